"""Files of evidence with one call each, for pages."""

from __future__ import annotations

from typing import Any

FIGURE = {"share": 50.0, "low": 25.0, "high": 75.0, "count": 4}

QUESTIONS: dict[str, dict[str, Any]] = {
    "task_1/0": {
        "name": "close_order",
        "arguments": {"order_id": "<4711>"},
        "text": '{"status": "closed"}',
        "is_error": False,
        "changes": {"orders": {"4711": {"status": "closed"}}},
    },
    "task_2/0": {"name": "show_order", "arguments": {}, "text": "gone", "is_error": True, "changes": {}},
}  # fmt: skip


def row(name: str, *, side: str, text: str, right: bool, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "side": side,
        "text": text,
        "is_error": False,
        "changes": {},
        "refused": "",
        "replies": [],
        "right": right,
        "silent": False,
        "score": {"value": right, "state": right},
        **more,
    }


def rung(name: str, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "adds": f"What {name} adds.",
        "figures": {f"{name}, {side} tools": FIGURE for side in ("known", "unseen") for name in ("right", "state, 1 field changed")},
        "right": 50.0,
        "cost": {"requests": 1.5, "tokens written": 1234.0},
        "auroc": None,
        "reliability": [],
        "coverage": [],
        "rows": list(rows),
        **more,
    }  # fmt: skip


def evidence(**more: Any) -> dict[str, Any]:
    """A file whose two calls are answered wrongly and refused on one rung, and rightly on another."""
    wrong = row(
        "task_1/0", side="known", text='{"status": "<b>open</b>"}', right=False, silent=True
    )
    refused = row(
        "task_2/0",
        side="unseen",
        text="",
        right=False,
        refused="no usable answer",
        replies=[{"content": "Hm <script>"}],
    )
    fine = [
        row(name, side=side, text=QUESTIONS[name]["text"], right=True, changes=QUESTIONS[name]["changes"])
        for name, side in (("task_1/0", "known"), ("task_2/0", "unseen"))
    ]  # fmt: skip
    curves = {
        "auroc": 0.875,
        "reliability": [[20, 10], [90, 95]],
        "coverage": [[50, 90], [100, 50]],
    }
    return {
        "model": "small",
        "server": {"version": {"version": "0.32.0"}},
        "version": "1.0",
        "prompts": "v1",
        "set": "ab12",
        "sides": ["known", "unseen"],
        "doctor": {"checks": [{"check": "kind", "verdict": "ok", "summary": "vLLM"}]},
        "finished": "2026-01-01T00:00:00+00:00",
        "rungs": [
            rung("bare", wrong, refused),
            rung("agreement", *fine, **curves),
            rung("thinking-0", *fine),
            rung("thinking-512", *fine, right=75.0, cost={"tokens written": 2000.0}),
        ],
        "questions": QUESTIONS,
        **more,
    }
