"""Sources of data for tests, and rows in AgentWorldBench form that we wrote ourselves."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.turns import Action, Observation, Turn
from agentworld_trainers.data import Demonstration, SourceTrajectory
from agentworld_trainers.data._prepared_trajectory import PreparedTrajectory, prepare_source
from tests.trainers.data.worlds import computed

SYSTEM = "You predict what a terminal shows."
MARKER = "**Environment Observation:**\n"


def row(actions: list[str], answers: list[str | None], turn: int, **changes: Any) -> dict[str, Any]:
    """One row: the actions as a terminal's keystrokes, and what was seen."""
    prompts = [
        f"### Turn {number}\n**Action:**\n```json\n"
        f"{json.dumps([{'keystrokes': action, 'duration': 0.1}])}\n```"
        for number, action in enumerate(actions, 1)
    ]
    value: dict[str, Any] = {
        "task": "count-lines",
        "id": "count-lines-1",
        "prompt": prompts,
        "response": [None if one is None else MARKER + one for one in answers],
        "current_prompt": prompts[turn - 1],
        "system_str": SYSTEM,
        "turn_idx": turn,
        "total_turns": len(actions),
    }
    return {**value, **changes}


def write_lines(path: Path, values: list[Any]) -> Path:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def trajectories(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    """Some worlds of several tasks, a few turns each; one task is fixed to the test side."""
    for number in range(settings["count"]):
        task = f"task-{number % settings.get('tasks', 4)}"
        calls = [
            ToolCall("Write", {"file_path": f"/srv/{task}-{number}.txt", "content": f"{number}\n"}),
            ToolCall("Bash", {"command": f"cat /srv/{task}-{number}.txt | sed s/^/{seed}-/"}),
            ToolCall("Bash", {"command": "ls /srv"}),
        ]
        made = asyncio.run(computed(calls, seed=seed + number))
        fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
        fields |= {"id": f"{task}/{number}", "task": task}
        fields |= {"thinking": {2: "It was just written."}}
        if settings.get("fixed") == task:
            fields["split"] = "test"
        yield SourceTrajectory(**fields)


def forks(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    """A session that is held out, and one of another task that begins with all of it and goes on."""
    begun = [
        ToolCall("Write", {"file_path": "/srv/a.txt", "content": "secret words\n"}),
        ToolCall("Bash", {"command": "cat /srv/a.txt"}),
        ToolCall("Bash", {"command": "ls /srv"}),
    ]
    more = [ToolCall("Bash", {"command": f"seq {number} 9"}) for number in range(1, 6)]
    for task, calls in (("held", begun), ("long", [*begun, *more])):
        made = asyncio.run(computed(calls, seed=seed))
        yield replace(made, id=task, task=task, split="test" if task == "held" else "train")


def of_changing_moods(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    """Gives a trajectory, and then fails as the settings say."""
    yield asyncio.run(computed([ToolCall("Bash", {"command": "ls /srv"})]))
    if settings["mood"] == "leaves":
        sys.exit(3)
    raise KeyError("mood")


def with_demonstrations(
    settings: Mapping[str, Any], seed: int
) -> list[SourceTrajectory | Demonstration]:
    """The same, and a demonstration for each task."""
    made: list[SourceTrajectory | Demonstration] = list(trajectories(settings, seed))
    for number in range(settings.get("tasks", 4)):
        message = {"role": "assistant", "content": "Done."}
        made.append(
            Demonstration.from_json(
                {"id": f"d{number}", "task": f"task-{number}", "messages": [message]}
            )
        )
    return made


def wrong(settings: Mapping[str, Any], seed: int) -> list[int]:
    """Gives no trajectories."""
    return [seed]


def nothing(settings: Mapping[str, Any], seed: int) -> int:
    """Gives nothing to iterate over."""
    return seed


class Words:
    """A tokenizer as far as the data stage knows one."""

    def __init__(self, texts: list[str], size: int) -> None:
        self.words = sorted({word for text in texts for word in text.split()})[:size]

    def save_pretrained(self, folder: str) -> None:
        (Path(folder) / "words.json").write_text(json.dumps(self.words))


def tokenizer(texts: list[str], *, size: int = 10) -> Words:
    """Trains a tokenizer."""
    return Words(texts, size)


PAGE = """### Page
- Page URL: http://shop.test/
- Page Title: Shop
### Snapshot
```yaml
- button "Buy" [ref=e{ref}]
- text: {text}
```"""


def browsing(*answers: str, **changes: Any) -> PreparedTrajectory:
    """A session with a browser, written by hand."""
    call = ToolCall("browser_click", {"element": "Buy", "ref": "e1"})
    turns = tuple(
        Turn(
            parent="",
            call=replace(call, arguments={**call.arguments, "ref": f"e{number}"}),
            action=Action(""),
            observation=Observation(text=answer, provenance="real"),
            change=StateChange(clock_us=0),
        )
        for number, answer in enumerate(answers)
    )
    tool = ToolSpec(name="browser_click", domain="web")
    source = SourceTrajectory(id="t", task="t", turns=turns, tools={tool.name: tool}, **changes)
    return prepare_source(source)
