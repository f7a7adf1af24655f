"""Tables as they are printed into files and on terminals of any width."""

from __future__ import annotations

import re

import pytest

from agentworld_sim.cli.terminal_output import print_table

HEADS = ("engine", "inside only", "outside only")
LINE = ("a name: [b]", "100.0 %", "1.00 [0.97, 1.00]")


@pytest.mark.parametrize(
    ("columns", "forced", "lines"),
    [
        (20, False, 3),
        (80, True, 3),
        # The heads' words one below the other.
        (37, True, 4),
        # Everything one below the other.
        (36, True, 3),
    ],
)
def test_no_text_of_a_table_is_cut(
    columns: int,
    forced: bool,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(HEADS, [LINE], "Kendall's :x:")
    told = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    assert all(cell in told for cell in LINE)
    assert told.endswith("Kendall's :x:\n")
    assert len(told.splitlines()) == lines + 1
    if forced:
        assert max(map(len, told.splitlines())) <= columns
