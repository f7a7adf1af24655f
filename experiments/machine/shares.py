"""The share of agents' commands and sessions that the machine computes, before and after: counted shares, by the
measured success of each kind of call.

    python experiments/machine/shares.py

`shares.json` holds what was counted; `success.json` what was measured, each with the file it comes from.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS_IN_A_SESSION = 41_035 / 874


def main() -> None:
    """Prints the table."""
    counted = json.loads((HERE / "shares.json").read_text())
    success = json.loads((HERE / "success.json").read_text())
    groups = counted["groups"]
    print(f"| | {' | '.join(groups)} |\n|---|{'---|' * len(groups)}")
    before = counted["steps"][0]
    commands, sessions, kept = before["commands"], before["sessions"], 1.0
    seen: set[str] = set()
    last = before
    for step in counted["steps"]:
        if (kind := step["kind"]) is not None:
            right = success[kind]["right"] / success[kind]["of"]
            calls = counted["calls"][kind]
            if kind not in seen:
                # Where a call of the kind fails, the session is not whole; calls are taken as independent.
                kept *= right ** (calls["commands"] * COMMANDS_IN_A_SESSION / calls["sessions"])
            seen.add(kind)
            more = zip(step["commands"], last["commands"], strict=True)
            commands = [
                now + right * (new - old) for now, (new, old) in zip(commands, more, strict=True)
            ]
            # Those that were whole before do not call the new kind.
            gained = zip(step["sessions"], last["sessions"], strict=True)
            sessions = [
                now + kept * (new - old) for now, (new, old) in zip(sessions, gained, strict=True)
            ]
        cells = [
            f"{a:.1f} / {b:.1f} ({c:.1f} / {d:.1f})"
            for a, b, c, d in zip(
                commands, sessions, step["commands"], step["sessions"], strict=True
            )
        ]
        print(
            f"| {step['step'] if step is before else '+ ' + step['step']} | {' | '.join(cells)} |"
        )
        last = step


main()
