"""Rows in the form of AgentWorldBench, one trajectory a domain, with what is known to be odd in the published ones.

The forms are unverified until a real row is seen: nothing here is copied from one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentworld_sim.llm.scripted import ModelRequest

MARKER = "**Environment Observation:**"

ACTIONS: dict[str, list[str]] = {
    "mcp": ['```json\n{"name": "get_user", "arguments": {"id": 7}}\n```', '{"name": "list_users", "arguments": {}}'],
    # Lines that only some readers would end here: U+2028, U+0085, a form feed.
    "search": ['{"name": "web_search", "arguments": {"queries": ["tea\u2028pot"]}}', "web_extractor {\x85\x0c}"],
    "terminal": ['[{"keystrokes": "ls\\n", "duration": 0.1}]', '[{"keystrokes": "", "duration": 2.50}]'],
    # Arguments as a text.
    "swe": ['{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}', '{"name": "glob", "arguments": "{}"}'],
    "android": ['{"action_type": "click", "index": 3}', '<event type="touch" view="2"/>'],
    "web": ["```\nclick('a12')\n```", "```playwright\nbrowser_click(ref=\"e1\")\n```"],
    "os": ["```python\npyautogui.click(1, 2)\n```", "```python\npyautogui.write('x')\n```"],
}  # fmt: skip


def make_row(domain: str, turn: int, trajectory: int = 0, **changes: Any) -> dict[str, Any]:
    """One row, as the published files are described."""
    actions = [
        f"### Turn {number}\n**Action:**\n{text}" for number, text in enumerate(ACTIONS[domain], 1)
    ]
    return {
        "task": domain,
        "id": f"{domain}-{trajectory}",
        "prompt": actions,
        "response": [f"{MARKER}\n{domain} {trajectory} said {number}\u2028." for number in (1, 2)],
        "current_prompt": actions[turn - 1],
        "system_str": f"You are {domain} {trajectory}.\n### 1. a_tool\nIt is a tool.",
        "turn_idx": turn,
        "total_turns": 2,
        **changes,
    }  # fmt: skip


def write_rows(folder: Path, count: int = 2) -> list[Path]:
    """A file for each domain, each with so many trajectories of two rows; one row of Android stands there twice."""
    paths: list[Path] = []
    for name in ACTIONS:
        rows = [make_row(name, turn, number) for number in range(count) for turn in (1, 2)]
        rows += [rows[0]] * (name == "android")
        paths.append(folder / f"{name}_test.jsonl")
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        paths[-1].write_text("".join(lines), encoding="utf-8", newline="")
    return paths


def say(request: ModelRequest) -> str:
    """A world model and a judge in one, whose replies follow from what they are asked."""
    text = request.last_user
    if "final_evaluation" not in text:
        return f"<think>{len(text)}</think><predicted_observation>\nseen {len(request.messages)}\n</predicted_observation>"
    return verdict([1 + len(text) * factor % 5 for factor in (1, 2, 3, 7, 11)])


def verdict(ratings: Sequence[Any]) -> str:
    """What a judge says in the official form."""
    names = ("format", "factuality", "consistency", "realism", "quality")
    scores = dict(zip(names, ratings, strict=True))
    said = json.dumps({"strengths": [], "weaknesses": ["x"], "scores": scores})
    return f"Step by step.\n<final_evaluation>\n```json\n{said}\n```\n</final_evaluation>"
