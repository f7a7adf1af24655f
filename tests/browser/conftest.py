"""A real Chromium for the tests of this folder, which only `make test-browser` runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parents[1] / "build" / "browser"


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def chromium() -> Generator[Any]:
    """A headless browser, driven by Playwright."""
    sys.path.append(str(DRIVER))
    api: Any = import_module("playwright.sync_api").sync_playwright

    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    assert program, "no Chromium was found; name one in CHROMIUM"
    # As root, as in a container, Chromium refuses to start with its sandbox.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()
