"""A small recording: a shop with orders, whose numbers are drawn by chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.bench.transitions import TransitionSet

TOOLS = [
    {
        "name": name,
        "description": what,
        "inputSchema": {"type": "object", "properties": {field: {"type": "string"}}},
    }
    for name, what, field in (
        ("open_order", "Opens an order for an article.", "article"),
        ("close_order", "Closes an order.", "order_id"),
        ("show_order", "Shows an order.", "order_id"),
    )
]
OLD = {"order_id": "4711", "article": "cup", "status": "open"}
NEW = {"order_id": "8154", "article": "pot", "status": "open"}


def turn(name: str, arguments: dict[str, str], answer: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "arguments": arguments,
        "text": json.dumps(answer),
        "is_error": False,
        "by_chance": [],
        "probe": False,
        "changes": {},
        **more,
    }


def session(task: str) -> dict[str, Any]:
    closed = {**OLD, "status": "closed"}
    return {
        "source": "shop 1",
        "task": task,
        "apis": ["shop"],
        "keys": {"orders": "order_id", "settings": "name"},
        "initial": "first",
        "turns": [
            turn("open_order", {"article": "pot"}, NEW, by_chance=["8154"], changes={"orders": {"8154": NEW}}),
            turn("show_order", {"order_id": "4711"}, OLD),
            turn("close_order", {"order_id": "4711"}, closed, changes={"orders": {"4711": closed}}),
            turn("show_order", {"order_id": "1"}, "no such order", is_error=True, probe=True),
            turn("close_order", {"order_id": "8154"}, "gone", changes={"orders": {"8154": None}}),
        ],
    }  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Callable[..., Path]:
    """Writes a recording of some tasks."""

    def write(*tasks: str) -> Path:
        settings = {"shop": {"name": "shop", "value": "open"}}
        lines: list[Any] = [{"tool": tool, "api": "shop"} for tool in TOOLS]
        lines.append({"state": "first", "tables": {"orders": {"4711": OLD}, "settings": settings}})
        lines += map(session, tasks)
        path = tmp_path / "shop.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


@pytest.fixture
def shop(recording: Callable[..., Path]) -> TransitionSet:
    """One session."""
    return TransitionSet.load([recording("task_1")])
