"""A set of fictional worlds in a folder: built, asked, checked and solved, world by world.

Each step of a world leaves one JSON file, which appears whole or not at all. A step whose file is there and was made
from the same by the same release is not done again, so that a set which was interrupted, or has grown, goes on where it stood.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.page_base import builder_hash
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.types.json import canonical_json
from agentworld_sim.whole_file import write_file

Step = Literal["build", "questions", "check", "solve"]

BEFORE: Mapping[Step, Step | None] = {
    "build": None,
    "questions": "build",
    "check": "questions",
    "solve": "questions",
}
"""The step whose result each one begins from."""

_SET = "set.json"


@dataclass(frozen=True, slots=True)
class WorldSet:
    """The worlds of a folder."""

    folder: Path
    recipes: Sequence[FictionRecipe]

    @classmethod
    def begin(cls, folder: Path, recipes: Sequence[FictionRecipe]) -> WorldSet:
        """A new set, or the one that is there, which may grow.

        Raises:
            UsageError: the folder holds something else, or worlds that are not among the recipes.
        """
        made = cls(folder, tuple(recipes))
        if (folder / _SET).exists():
            lost = [one for one in cls.open(folder).recipes if one not in made.recipes]
            if lost:
                raise UsageError(
                    f"{folder} holds {len(lost)} worlds that these options do not make, such as"
                    f" {canonical_json(asdict(lost[0]))}. Choose another folder, or the options that it was"
                    " begun with."
                )
        elif folder.exists() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} is not empty and holds no set of worlds. Choose another folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / _SET, {"worlds": [asdict(one) for one in recipes]})
        return made

    @classmethod
    def open(cls, folder: Path) -> WorldSet:
        """The set in a folder.

        Raises:
            UsageError: there is none.
        """
        try:
            content = json.loads((folder / _SET).read_text("utf-8"))
            return cls(folder, tuple(FictionRecipe(**one) for one in content["worlds"]))
        except FileNotFoundError:
            raise UsageError(
                f"there is no set of worlds in {folder}. `agentworld fiction build {folder}` makes one."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{folder / _SET} cannot be read ({error}). Remove it and build again: what is done stays."
            ) from None

    def run(
        self, step: Step, options: Mapping[str, Any], jobs: int, done: Callable[[], None]
    ) -> Mapping[FictionRecipe, Mapping[str, Any]]:
        """Does a step of all worlds that need it, in so many processes, and gives what it came to.

        Args:
            options: What the step takes beside the world.
            jobs: Processes.
            done: Called after each world, those included that needed nothing.

        Raises:
            UsageError: the step before is missing, or a world cannot be made.
        """
        work = partial(_run_step, step, self.folder, dict(options))
        found: dict[FictionRecipe, Mapping[str, Any]] = {}
        for recipe, result in _in_processes(work, self.recipes, min(jobs, len(self.recipes))):
            found[recipe] = result
            done()
        return {one: found[one] for one in self.recipes}

    def results(self, step: Step) -> Mapping[FictionRecipe, Mapping[str, Any]]:
        """What a step came to, of the worlds for which it was done since the step before it changed."""
        read = {one: _result(self.folder, one, step) for one in self.recipes}
        return {one: found for one, found in read.items() if found is not None}


def recipes_of(
    families: Sequence[str], worlds: int, seed: int, **fields: Any
) -> list[FictionRecipe]:
    """So many recipes, the families in turn, with consecutive seeds."""
    return [
        FictionRecipe(family=families[n % len(families)], seed=seed + n // len(families), **fields)
        for n in range(worlds)
    ]


def name_of(recipe: FictionRecipe) -> str:
    """The name of a world in its set."""
    parts = [Path(recipe.family).stem, str(recipe.seed), "real" if recipe.names == "real" else ""]
    return "-".join(one for one in parts if one)


def _in_processes(
    work: Callable[[FictionRecipe], Mapping[str, Any]], recipes: Sequence[FictionRecipe], jobs: int
) -> Iterator[tuple[FictionRecipe, Mapping[str, Any]]]:
    if jobs <= 1:
        yield from ((one, work(one)) for one in recipes)
        return
    # Not forked: threads of this process may hold locks.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))
    try:
        waiting = {pool.submit(work, one): one for one in recipes}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _run_step(
    step: Step, folder: Path, options: Mapping[str, Any], recipe: FictionRecipe
) -> Mapping[str, Any]:
    """Does a step of one world, unless it was done; runs in a process of its own."""
    from agentworld_sim.synthesis import world_steps

    earlier: Mapping[str, Any] | None = None
    before = BEFORE[step]
    if before is not None:
        earlier = _result(folder, recipe, before)
        if earlier is None:
            raise missing_step(before, folder, recipe)
    found = _result(folder, recipe, step)
    if found is None or found["options"] != options:
        result = world_steps.STEPS[step](recipe, earlier or {}, **options)
        found = {"made_from": _origin_hash(folder, recipe, step), "options": options, **result}
        _write(_file(folder, recipe, step), found)
    return found


def missing_step(step: Step, folder: Path, recipe: FictionRecipe) -> UsageError:
    """What to do where a step is asked for that was not done."""
    return UsageError(
        f"the step {step!r} of {name_of(recipe)} is missing, or older than what it begins from:"
        f" `agentworld fiction {step} {folder}` does it."
    )


def _file(folder: Path, recipe: FictionRecipe, step: Step) -> Path:
    return folder / "worlds" / name_of(recipe) / f"{step}.json"


def _result(folder: Path, recipe: FictionRecipe, step: Step) -> Mapping[str, Any] | None:
    """What a step came to; None where it was not done, or from something else."""
    try:
        found = json.loads(_file(folder, recipe, step).read_text("utf-8"))
        return found if found["made_from"] == _origin_hash(folder, recipe, step) else None
    except (FileNotFoundError, ValueError):
        return None


def _origin_hash(folder: Path, recipe: FictionRecipe, step: Step) -> str:
    """A hash of the recipe, the release, and the bytes that the step before left."""
    before = BEFORE[step]
    earlier = _file(folder, recipe, before).read_bytes() if before else b""
    given = canonical_json([asdict(recipe), builder_hash(recipe.family)]).encode()
    return hashlib.sha256(given + earlier).hexdigest()


def _write(file: Path, content: Mapping[str, Any]) -> None:
    write_file(file, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
