"""The official suite through the shim: as many checks passed as without it, and none lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.conftest import checks, node

REVISIONS = {"2025-11-25": 84, "2026-07-28": 169}
"""Revision to the checks that the everything-server passes (suite 0.2.0-alpha.12, mcp 2.3.0)."""


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_check_of_the_official_suite_is_lost(
    direct: str, through: str, revision: str, tmp_path: Path
) -> None:
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, url in (("direct", direct), ("through", through)):
        folder = tmp_path / name
        node("conformance", "server", "--url", url, "--requirements", revision, "-o", str(folder))
        # INFO is said of what was seen on the way, which may be more through one more server.
        found[name] = {
            check: [status for status in statuses if status != "INFO"]
            for check, statuses in checks(folder).items()
        }
    passed = {
        name: sum(statuses.count("SUCCESS") for statuses in one.values())
        for name, one in found.items()
    }
    print(f"{revision}: {passed}")
    assert found["through"] == found["direct"]
    assert passed["direct"] == REVISIONS[revision]
