"""How many CPU threads torch uses. [torch]"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int | None) -> Generator[None]:
    """Has torch use so many CPU threads while the block runs; `None` changes nothing."""
    before = torch.get_num_threads()
    try:
        if count:
            torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)
