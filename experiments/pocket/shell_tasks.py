"""The pocket agent's tasks: shell work in simulated worlds, judged by the state that is left.

Train and held-out tasks are disjoint twice: no task is in both, and whole templates are held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Final, Literal

from agentworld_sim import Scenario
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.rollouts import AgentTasks, WorldTask, WorldTaskSettings
from experiments.pocket.agent_templates import FAMILIES, HELD_OUT, SESSIONS, Draft
from experiments.pocket.script import WORKDIR
from experiments.pocket.world import TOOL, told

SYSTEM: Final = "You work in a shell."

Group = Literal["demonstrated", "looks", "sessions", "train", "instances", "templates"]
"""What a task is for: demonstrations, sessions that only look things up, sessions to predict, agent
training, or one of the two held-out groups: new tasks of train templates, and tasks of held-out
templates."""

GROUPS: Final[tuple[Group, ...]] = (
    *("demonstrated", "looks", "sessions", "train", "instances", "templates"),
)
HELD_OUT_GROUPS: Final[tuple[Group, ...]] = ("instances", "templates")

WEIGHTS: Final[Mapping[str, int]] = {"action": 2, "errand": 4, "pair": 3, "note": 4}
"""How often a family is drawn."""

WEIGHTS_OF: Final[Mapping[Group, Mapping[str, int]]] = {
    # What takes several jobs, or is told by a note, is hardly shown. It is left to reinforcement learning,
    # which has to have something to find.
    "demonstrated": {"action": 86, "errand": 86, "pair": 6, "note": 1},
    "looks": {"looks": 1},
    # Single jobs are solved already, and teach nothing more.
    "train": {"action": 1, "errand": 3, "pair": 5, "note": 5},
}
"""The same for groups that have their own."""

_TEMPLATES: Final = {**FAMILIES, **SESSIONS}

COUNTS: Final[Mapping[str, int]] = {
    "demonstrated": 8000,
    "looks": 8000,
    "sessions": 1200,
    "train": 1000,
    "instances": 192,
    "templates": 96,
}
"""How many tasks there are of each group, where a recipe does not say."""


@dataclass(frozen=True, kw_only=True)
class ShellTask:
    """One task."""

    template: str
    group: Group
    number: int
    """In its group, from 0."""
    instruction: str
    files: Mapping[str, str | None]
    """What is there at the start, by path relative to the working directory; `None` is a folder."""
    goals: tuple[Mapping[str, Any], ...]
    """As in a scenario, with paths relative to the working directory."""
    commands: tuple[str, ...]
    """What an expert does, one command for each turn."""

    @property
    def name(self) -> str:
        return f"{self.group}/{self.number}/{self.template}"

    @cached_property
    def content(self) -> tuple[object, ...]:
        """What makes it the same task as another one."""
        return (self.instruction, tuple(sorted(self.files.items(), key=str)))

    def scenario(self) -> Scenario:
        """The world of the task, with its goals."""
        shown = {
            path: text if text is not None else "(folder)" for path, text in self.files.items()
        }
        return Scenario.model_validate(
            {
                "name": "pocket-agent",
                "domains": ["swe"],
                "instruction": self.instruction,
                "machine": {"workdir": WORKDIR},
                "files": {
                    f"{WORKDIR}/{path}": {"directory": True} if text is None else text
                    for path, text in self.files.items()
                },
                "tools": [dict(TOOL)],
                "goals": [_absolute(goal) for goal in self.goals],
                "model": {"initial_state": {"swe": told(shown)}} if shown else {},
            }
        )

    def task(self) -> WorldTask:
        """The same for the rollout engine."""
        settings = WorldTaskSettings(system=SYSTEM)
        return WorldTask(self.scenario(), name=self.name, settings=settings)


def agent_tasks(settings: Mapping[str, Any], seed: int) -> AgentTasks:
    """The pocket agent's tasks. A function for `agent.tasks` of a recipe.

    Args:
        settings: How many tasks of each group: `train`, `instances`, `templates` (and `demonstrated`,
            `looks` and `sessions`, which are for the data); and `seed`, so that the tasks stay the same when the
            recipe's seed changes.
        seed: Where all random choices start.

    Raises:
        UsageError: there is no such setting.
    """
    counts = {name: value for name, value in settings.items() if name != "seed"}
    # What is for the data does not change what is drawn for the agent.
    counts |= {"demonstrated": 0, "looks": 0, "sessions": 0}
    groups = shell_tasks(counts, settings.get("seed", seed))
    held_out = {group: [task.task() for task in groups[group]] for group in HELD_OUT_GROUPS}
    return AgentTasks(train=[task.task() for task in groups["train"]], held_out=held_out)


def shell_tasks(settings: Mapping[str, Any], seed: int) -> dict[Group, list[ShellTask]]:
    """All tasks by group. No task is in two groups.

    Args:
        settings: As for `agent_tasks`.
        seed: Where all random choices start.

    Raises:
        UsageError: there is no such setting, or not a number.
    """
    for name, value in settings.items():
        if name not in COUNTS:
            raise UsageError(
                f"the pocket agent's tasks have no setting {name!r}.{nearest(name, COUNTS)} There"
                f" are: {', '.join(COUNTS)}."
            )
        if not isinstance(value, int) or value < 0:
            raise UsageError(
                f"{name!r} of the pocket agent's tasks is a number of tasks: {value!r}"
            )
    counts = {**COUNTS, **settings}
    seen: set[tuple[object, ...]] = set()
    made: dict[Group, list[ShellTask]] = {}
    # The held-out groups are drawn first, then what is trained on: they do not change with the number of
    # demonstrations.
    for group in reversed(GROUPS):
        made[group] = list(_drawn(group, counts[group], seed, seen))
    return made


def _drawn(
    group: Group, count: int, seed: int, seen: set[tuple[object, ...]]
) -> Iterator[ShellTask]:
    held_out = group == "templates"
    names = {
        family: [name for name in templates if (name in HELD_OUT) == held_out]
        for family, templates in _TEMPLATES.items()
    }
    often = WEIGHTS_OF.get(group, WEIGHTS)
    families = [family for family, found in names.items() if found and family in often]
    random = Random(f"{seed}/{group}")
    number = 0
    while number < count:
        family = random.choices(families, [often[name] for name in families])[0]
        task = written(family, random.choice(names[family]), group, number, random)
        if task.content not in seen:
            seen.add(task.content)
            number += 1
            yield task


def written(family: str, name: str, group: Group, number: int, random: Random) -> ShellTask:
    """A task of one template, with the choices that `random` makes."""
    draft = Draft(Random(random.getrandbits(64)))
    _TEMPLATES[family][name](draft)
    # Something that has nothing to do with the task, and must stay.
    word = draft.word()
    draft.must_say(draft.given(word), word)
    return ShellTask(
        template=name,
        group=group,
        number=number,
        instruction=draft.instruction,
        files=dict(sorted(draft.files.items())),
        goals=tuple(draft.goals),
        commands=tuple(draft.commands),
    )


def _absolute(goal: Mapping[str, Any]) -> dict[str, Any]:
    if "file" not in goal:
        return dict(goal)
    return {**goal, "file": f"{WORKDIR}/{goal['file']}"}
