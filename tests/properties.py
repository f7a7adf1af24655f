"""How many examples a property is tried with."""

from __future__ import annotations

import os

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
"""Set by `make test-full`. `make test` tries a fifth."""


def examples(full: int) -> int:
    """`full` examples in the full profile, a fifth of them otherwise, and at least five."""
    return full if FULL else max(5, full // 5)
