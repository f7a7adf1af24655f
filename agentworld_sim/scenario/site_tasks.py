"""Tasks on a site: what an agent is asked to do there, how it is judged, and the proof that it can be done."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr, ValidationError, model_validator

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scenario._content import GOAL_KEYS, Goal, NothingElseGoal, ValueGoal
from agentworld_sim.scenario._scenario import Scenario
from agentworld_sim.scenario._types import KeyedProblems, Problems, Slug, Strict, mismatch
from agentworld_sim.scenario.site_file import ADMIN, SHIPPED, shipped_site

ELEMENT = re.compile(
    r"""([a-z]+)(?: ("(?:[^"\\]|\\.)*"))?(?: (after|before) ("(?:[^"\\]|\\.)*"))?"""
)
"""`button "Save"`, `button "Save" after "Title"`: an element as the snapshot of its page tells it."""

_NODE = re.compile(r'([a-z]+)(?: ("(?:[^"\\]|\\.)*"|/.*?/))?(?= |:|$)')

VERBS = ("open", "click", "type", "select", "press", "dialog", "answer")
"""What a step can be."""


def element_ref(snapshot: str, target: str) -> str | None:
    """The ref of the element that a step names; `None` where the page shows none."""
    wanted = ELEMENT.fullmatch(target)
    assert wanted is not None, target
    role, name, side, text = wanted.groups()
    lines = snapshot.splitlines()
    if side:
        marks = [number for number, line in enumerate(lines) if json.loads(text) in line]
        if not marks:
            return None
        lines = lines[marks[0] + 1 :] if side == "after" else lines[marks[0] :: -1]
    for line in lines:
        said = line.strip().removeprefix("- ")
        if said.startswith("'"):
            said = said[1:].replace("''", "'")
        node = _NODE.match(said)
        ref = re.search(r"\[ref=(\w+)\]", said)
        if node and ref and node[1] == role and (name is None or _same(node[2], name)):
            return ref[1]
    return None


def _same(shown: str | None, name: str) -> bool:
    return shown is not None and shown[0] == '"' and json.loads(shown) == json.loads(name)


def _step(step: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    ((verb, said),) = step.items()
    if verb not in VERBS:
        raise mismatch(f"one of {', '.join(VERBS)}")
    if verb in ("type", "select"):
        targets: list[object] = list(said) if isinstance(said, dict) else []
    elif verb == "click":
        targets = [said]
    else:
        return step
    if not targets or not all(isinstance(one, str) and ELEMENT.fullmatch(one) for one in targets):
        raise mismatch('elements such as `button "Save"` or `button "Save" after "Title"`')
    return step


def _goal_key(key: str) -> str:
    if key not in GOAL_KEYS:
        raise mismatch(f"one of {', '.join(GOAL_KEYS)}")
    return key


Step = Annotated[Mapping[str, JsonValue], Field(min_length=1, max_length=1), AfterValidator(_step)]
Steps = Annotated[tuple[Step, ...], Field(strict=False, min_length=1)]


class NearMiss(Strict):
    """What a careless agent might do instead."""

    refused_by: Annotated[str, AfterValidator(_goal_key)]
    """The form of a goal that is not met then."""
    steps: Steps
    """What it does."""


class SiteTask(Strict):
    """A task on a site."""

    id: Slug
    """Its name."""
    difficulty: Literal["easy", "medium", "hard"]
    """How much there is to find out."""
    instruction: Annotated[str, Field(min_length=1)]
    """What the agent is asked to do."""
    rewordings: Annotated[tuple[str, ...], Field(strict=False, min_length=2)]
    """The same in other words."""
    user: str | None = None
    """Who is signed in; by default whom the file names."""
    goals: Annotated[tuple[Goal, ...], Field(strict=False, min_length=1)]
    """What is so at the end. That nothing else changed is added where no goal speaks of it."""
    steps: Steps
    """How it is done."""
    near_misses: Annotated[tuple[NearMiss, ...], Field(strict=False, min_length=5)]
    """What does not do it."""

    @property
    def wordings(self) -> tuple[str, ...]:
        """The instruction and its rewordings."""
        return (self.instruction, *self.rewordings)


class SiteTasks(Strict):
    """The tasks of one site."""

    user: str | None = None
    """Who is signed in where a task does not say."""
    scenario: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """What else the scenarios have."""
    tasks: Annotated[tuple[SiteTask, ...], Field(strict=False, min_length=1)]
    """The tasks."""

    _site: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        problems: Problems = []
        ids = [task.id for task in self.tasks]
        for number, one in enumerate(ids):
            if one in ids[:number]:
                message = f"another task is called {one!r}. Rename one of them."
                problems.append((("tasks", number, "id"), message))
        KeyedProblems.raise_for(problems)
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads the tasks of the site that the file's folder is named after.

        Raises:
            ScenarioError: the file is invalid. The message lists every problem, up to ten.
        """
        from agentworld_sim.scenario._document import problems_error, problems_of, read_document

        document = read_document(path.read_text(encoding="utf-8"), str(path))
        problems, tasks = list(document.problems), None
        try:
            tasks = cls.model_validate(document.value)
        except ValidationError as error:
            problems += problems_of(error, document, cls)
        if tasks is None or problems:
            raise problems_error(str(path), problems)
        tasks._site = path.parent.name
        return tasks

    @property
    def home(self) -> str:
        """The address of the site's first page."""
        host = f"{ADMIN}.test" if self._site == ADMIN else shipped_site(self._site).hosts[0]
        return f"http://{host}/"

    def task(self, name: str) -> SiteTask:
        """The task of that id.

        Raises:
            UsageError: there is none.
        """
        known = {task.id: task for task in self.tasks}
        if name not in known:
            raise UsageError(
                f"the site {self._site!r} has no task {name!r}.{nearest(name, known)} Tasks:"
                f" {', '.join(known)}."
            )
        return known[name]

    def scenario_of(self, name: str, *, wording: int = 0) -> Scenario:
        """A task as a scenario, for the tools of Playwright's MCP server.

        Args:
            name: The task's id.
            wording: 0 for its instruction, 1 and more for its rewordings.

        Raises:
            UsageError: there is no such task, or it has fewer wordings.
        """
        task = self.task(name)
        if not 0 <= wording < len(task.wordings):
            raise UsageError(
                f"the task {name!r} has {len(task.wordings)} wordings, 0 to"
                f" {len(task.wordings) - 1}; there is no {wording}."
            )
        user = task.user if "user" in task.model_fields_set else self.user
        about = f"The site is at {self.home}"
        about += f" and you are signed in as {user}." if user else "."
        tools = ["playwright-mcp"]
        if any(isinstance(goal, ValueGoal) for goal in task.goals):
            about += " Hand the answer in with `submit_answer`."
            tools.append("answer")
        goals = [goal.model_dump(exclude_defaults=True) for goal in task.goals]
        if not any(isinstance(goal, NothingElseGoal) for goal in task.goals):
            goals.append({"nothing_else": "records"})
        return Scenario.model_validate(
            {
                **self.scenario,
                "name": f"{self._site}-{name}",
                "description": f"A task on the site {self._site} ({task.difficulty}).",
                "domains": ["web"],
                "instruction": f"{task.wordings[wording]}\n\n{about}\n",
                "sites": [{"site": self._site, "user": user}],
                "tools": tools,
                "goals": goals,
            },
            strict=False,
        )


@lru_cache(maxsize=32)
def site_tasks(site: str) -> SiteTasks:
    """The tasks of a site that comes with the library, each with its reference and its near misses.

    Raises:
        UsageError: there is no such site, or it has no tasks.
        ScenarioError: their file is invalid.
    """
    known = {file.parent.name: file for file in sorted(SHIPPED.glob("*/tasks.yaml"))}
    if site not in known:
        raise UsageError(
            f"there are no tasks for a site {site!r}.{nearest(site, known)} Sites with tasks:"
            f" {', '.join(known) or 'none'}."
        )
    return SiteTasks.load(known[site])
