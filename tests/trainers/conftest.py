"""Training, with torch and TRL: only `make test-train` runs this folder, in an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Whatever is no folder is looked for on the hub, for many seconds where there is none.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


def pytest_configure(config: pytest.Config) -> None:
    """Lets pass, one by one, what the libraries warn about in themselves."""
    config.addinivalue_line(
        # TRL 1.16 reads a name that transformers 5.23 calls deprecated.
        "filterwarnings",
        "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning",
    )
    config.addinivalue_line(
        # And it switches checkpointing off for a rollout, and on again, by the old names.
        "filterwarnings",
        r"ignore:`gradient_checkpointing_(en|dis)able` is deprecated:FutureWarning",
    )
