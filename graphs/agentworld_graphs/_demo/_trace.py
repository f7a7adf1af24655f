"""What the demo prints."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from agentworld_graphs._thread_refs import marks_of
from agentworld_sim.goals import GoalResult

COLOURS = {
    "computed": "green",
    "imagined": "magenta",
    "replayed": "cyan",
    "real": "red",
    "enforced": "yellow",
}
"""Of provenances."""

SHOWN_LINES = 14


class Trace:
    """A live account of a run, in the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, instruction: str, model: str, world_id: str) -> None:
        below = f"agent: {model} · world: {world_id}"
        text = Text(instruction.strip())
        self._console.print(Panel(text, title="[b]the task", subtitle=below, border_style="blue"))

    def section(self, title: str) -> None:
        self._console.print(Rule(f"[b]{title}", style="blue", align="left"))

    def message(self, message: BaseMessage) -> None:
        """One message of the conversation, as it happens."""
        if isinstance(message, AIMessage):
            if message.text:
                self._console.print(Text(message.text, style="italic"))
            for call in message.tool_calls:
                self.call(call["name"], call["args"])
        elif isinstance(message, ToolMessage):
            mark = marks_of(message)
            self.answer(message.text, mark["provenance"] if mark else "real", mark and mark["ref"])

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        shown = arguments.get("command") or "  ".join(
            f"{key}={value!r}" for key, value in arguments.items()
        )
        self._console.print(Text.assemble((f"  {name} ", "bold cyan"), (str(shown), "cyan")))

    def answer(self, text: str, provenance: str, ref: str | None) -> None:
        lines = text.rstrip("\n").split("\n")
        hidden = len(lines) - SHOWN_LINES
        if hidden > 0:
            lines = [*lines[:SHOWN_LINES], f"… {hidden} more lines"]
        for line in lines:
            self._console.print(Text("  │ " + line, style="dim"), soft_wrap=True)
        self._console.print(
            Text.assemble(
                "  └ ",
                (f" {provenance} ", f"reverse {COLOURS[provenance]}"),
                (f"  {ref[:12]}" if ref else "", "dim"),
            )
        )

    def patch(self, patch: str) -> None:
        self._console.print(Syntax(patch.rstrip(), "diff", background_color="default"))

    def goals(self, results: Sequence[GoalResult]) -> None:
        for result in results:
            mark, style = ("✓", "green") if result.met else ("✗", "red")
            self._console.print(Text(f"  {mark} {result.goal}  {result.reason}", style=style))

    def proof(self, proven: bool, text: str) -> None:
        mark, style = ("✓", "green") if proven else ("✗", "bold red")
        self._console.print(Text(f"  {mark} {text}", style=style))


MAX_FILES = 20_000
"""Of the working directory, so that the proof does not take longer than the demo."""

Fingerprint = dict[str, tuple[int, int, int]]


def fingerprint(folder: Path) -> Fingerprint:
    """Mode, size and time of every file below `folder`, but for caches that Python writes itself."""
    found: Fingerprint = {}
    for path in islice(folder.rglob("*"), MAX_FILES):
        if "__pycache__" not in path.parts and path.is_file():
            with suppress(OSError):
                info = path.lstat()
                found[str(path)] = (info.st_mode, info.st_size, info.st_mtime_ns)
    return found
