"""A run: the folder in which the stages of one recipe leave what they make.

    OUT/data/                rows for the stages
    OUT/STAGE/recipe.toml    what the stage was told
    OUT/STAGE/metrics.jsonl  one object per line
    OUT/STAGE/checkpoint-N/  where it can be taken up again
    OUT/STAGE/final/         its result

A stage whose folder is there is taken up where it was, or left as it is when it is finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes import STAGES, Recipe, StageName, canonical_toml
from agentworld_trainers.stages._checkpoints import checkpoints, sound_checkpoint, step_of
from agentworld_trainers.stages._processes import (
    LOCK,
    lock_folder,
    set_aside,
    verify_alone,
    verify_free,
)
from agentworld_trainers.stages._progress import Progress, progress

AnyStage = Literal["data"] | StageName

ORDER: tuple[AnyStage, ...] = ("data", *STAGES)
"""Every stage, in the order in which they follow each other."""

_RECIPE = "recipe.toml"
_FACTS = "facts.json"
_METRICS = "metrics.jsonl"
_NO_MATTER = ("save_every", "log_every", "threads")
_ABSENT = object()


class Run:
    """One recipe's results."""

    def __init__(self, recipe: Recipe, *, fresh: bool = False) -> None:
        """
        Args:
            fresh: Begin stages anew. What is in the folder of such a stage, and of those after it, which
                stand on it, is kept under another name.
        """
        self.recipe = recipe
        self.folder = Path(recipe.output or Path("runs") / recipe.name)
        self.fresh = fresh
        self._stages: dict[AnyStage, StageFolder] = {}

    def stage(self, name: AnyStage) -> StageFolder:
        """The folder of a stage, to write into. Nobody else writes into it until it is closed.

        Raises:
            UsageError: another process writes there, or it was begun with another recipe.
        """
        stage = self._stages.get(name)
        if stage is None or stage.closed:
            if self.fresh and stage is None:
                verify_alone(
                    "beginning anew", "Rename the stage's folder yourself, and leave out `--fresh`."
                )
                later = [self.folder / one for one in ORDER[ORDER.index(name) :]]
                for folder in later:
                    # Before any is renamed: half of them would be worse than none.
                    verify_free(folder)
                for folder in later:
                    set_aside(folder)
            stage = self._stages[name] = StageFolder(self.folder / name, name, self.recipe)
        return stage

    def start_of(self, name: StageName) -> Path | None:
        """What a stage begins with: the result of the last stage before it that is finished here.

        `None`: there is none, so it begins with the recipe's model.

        Raises:
            UsageError: the recipe makes its model from nothing, and says which stage comes first.
        """
        missing: StageName | None = None
        for earlier in reversed(STAGES[: STAGES.index(name)]):
            final = self.folder / earlier / "final"
            if final.is_dir():
                return final
            if getattr(self.recipe, earlier) is not None:
                missing = earlier
        if missing and not self.recipe.model.path:
            raise UsageError(
                f"the stage {name!r} would begin with random weights: {missing!r}, which comes before it in"
                f" the recipe, is not finished in {str(self.folder)!r}. Run `agentworld train {missing}"
                f" RECIPE` first, or leave it out with `{missing}=`."
            )
        return None

    def hold_start(self, name: StageName, start: Path | None) -> None:
        """Notes what an opened stage begins with: adapters fit no other weights.

        Raises:
            UsageError: it began with something else when it was begun.
        """
        stage = self._stages.get(name)
        if stage is not None and not stage.closed:
            began = start.relative_to(self.folder).as_posix() if start else "the recipe's model"
            stage.hold("start", began)

    def data(self, file: str) -> Path:
        """A file of the data stage.

        Raises:
            UsageError: it is not there.
        """
        path = self.folder / "data" / file
        if not path.exists():
            raise UsageError(
                f"there is no {str(path)!r}. Make the data first: `agentworld train data RECIPE`."
            )
        return path


class StageFolder(AbstractContextManager["StageFolder"]):
    """Where one stage leaves what it makes. Locked until it is closed, or until the process ends."""

    def __init__(self, folder: Path, name: AnyStage, recipe: Recipe) -> None:
        self.folder = folder
        self.name: AnyStage = name
        self.recipe = recipe
        self._progress: Progress | None = None
        self._begun = time.monotonic()
        # Of several processes of one training run, the first one writes.
        self._writes = int(os.environ.get("RANK", "0")) == 0
        self._lock: FileLock | None = None
        if self._writes:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._lock = lock_folder(folder)
            except OSError as error:
                raise UsageError(
                    f"nothing can be written to {str(folder)!r}: {error.strerror}. Choose another `output`"
                    " (`--output DIR`)."
                ) from error
            try:
                self._hold_recipe()
            except BaseException:
                self.close()
                raise

    closed = False

    # ------------------------------------------------------------------ results

    @property
    def final(self) -> Path:
        """The folder of the finished checkpoint; not there before the stage is finished."""
        return self.folder / "final"

    @property
    def finished(self) -> bool:
        return self.final.is_dir()

    def is_finished(self) -> bool:
        """Whether there is nothing left to do, which is then said."""
        if self.finished:
            self.say(f"{str(self.final)!r} is finished already; `--fresh` begins anew")
        return self.finished

    @property
    def checkpoints(self) -> list[Path]:
        """The complete checkpoints, oldest first."""
        return checkpoints(self.folder)

    # ------------------------------------------------------------------ metrics

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends a line of metrics."""
        if not self._writes:
            return
        line = {"step": step, "seconds": round(time.monotonic() - self._begun, 3), **metrics}
        with (self.folder / _METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics, oldest first. A last line that a kill has cut off is left out."""
        return read_metrics(self.folder / _METRICS)

    def resume(self) -> Path | None:
        """The checkpoint that training goes on from. Metrics after it are taken out: they come again.

        Raises:
            CheckpointDamaged: the newest one cannot be read.
        """
        last = sound_checkpoint(self.folder)
        if self._writes:
            path = self.folder / _METRICS
            kept = [line for line in read_metrics(path) if line["step"] <= step_of(last)]
            _write(path, "".join(json.dumps(line) + "\n" for line in kept))
            # The seconds go on where they were.
            self._begun = time.monotonic() - max((line["seconds"] for line in kept), default=0.0)
        return last

    # ------------------------------------------------------------------ telling

    @contextmanager
    def progress(self, total: int, what: str = "", *, done: int = 0) -> Generator[Progress]:
        """Tells how far the stage is while the block runs, and what it says meanwhile.

        Args:
            what: What is counted; the name of the stage by default.
            done: Steps that an earlier process did.
        """
        # Of several processes, the first one speaks.
        speaks = progress(total, what or self.name, done=done) if self._writes else None
        with speaks or nullcontext(Progress()) as told:
            self._progress = told
            try:
                yield told
            finally:
                self._progress = None

    def say(self, text: str) -> None:
        """Says a line to whoever watches."""
        if self._progress is not None:
            self._progress.say(text)
        elif self._writes:
            with progress(0, self.name) as told:
                told.say(text)

    # ------------------------------------------------------------------ what must stay the same

    def hold(self, name: str, value: str) -> None:
        """Notes what must be the same when the stage is taken up again, for example a digest of its data.

        Raises:
            UsageError: it was noted with another value.
        """
        path = self.folder / _FACTS
        try:
            facts: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        except ValueError as error:
            raise _damage_error(path, error) from None
        if facts.get(name, value) != value and self._writes and not self._stands:
            self._forget()
            facts = {}
        if facts.get(name, value) != value:
            raise UsageError(
                f"{str(self.folder)!r} was begun with another {name}, so it cannot be taken up again."
                " Begin anew with `--fresh`: what is there is kept under another name."
            )
        if self._writes and name not in facts:
            _write(path, json.dumps({**facts, name: value}, indent=1) + "\n")

    def _hold_recipe(self) -> None:
        path = self.folder / _RECIPE
        if path.exists():
            try:
                before = _with_defaults(tomllib.loads(path.read_text("utf-8")))
            except ValueError as error:
                raise _damage_error(path, error) from None
            now = tomllib.loads(canonical_toml(self.recipe))
            differences = list(
                _differences(_of_stage(before, self.name), _of_stage(now, self.name))
            )
            if differences and not self._stands:
                self._forget()
            elif differences:
                raise UsageError(
                    f"{str(self.folder)!r} was begun with another recipe: {'; '.join(differences)}."
                    " Set that back, choose another `output`, or begin anew with `--fresh`: what is there"
                    " is kept under another name."
                )
        _write(path, canonical_toml(self.recipe))

    @property
    def _stands(self) -> bool:
        """Whether there is something that was made with what the stage was told."""
        return self.name == "data" or self.finished or bool(self.checkpoints)

    def _forget(self) -> None:
        """Takes out what belongs to another beginning, where nothing was made: whoever corrects a mistake
        that the stage refused need not begin anew."""
        for name in (_FACTS, _METRICS):
            (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Lets others write."""
        self.closed = True
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __exit__(self, *raised: object) -> None:
        if raised[1] is not None and self._writes:
            self._remove_if_empty()
        self.close()

    def _remove_if_empty(self) -> None:
        """A mistake that was found before anything was made leaves no folder behind."""
        if {path.name for path in self.folder.iterdir()} <= {_RECIPE, LOCK}:
            shutil.rmtree(self.folder)
            with suppress(OSError):
                self.folder.parent.rmdir()


def _damage_error(path: Path, error: ValueError) -> UsageError:
    return UsageError(
        f"{str(path)!r}, which says what the stage was told, is damaged: {error}. Begin anew with"
        " `--fresh`: what is there is kept under another name."
    )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Reads lines of metrics. A last line that a kill has cut off is left out."""
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text("utf-8").split("\n")[:-1], 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise UsageError(
                f"{str(path)!r}, line {number}, is damaged: {error}. Take the line out: nothing but curves"
                " and tables is made of it."
            ) from None
    return found


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_stage(recipe: Mapping[str, Any], stage: AnyStage) -> dict[str, Any]:
    """What of a recipe decides on a stage's result: not the stages around it, nor what is only told."""
    if stage == "data":
        return {"seed": recipe["seed"], "data": recipe["data"]}
    part = {key: value for key, value in recipe.get(stage, {}).items() if key not in _NO_MATTER}
    return {"seed": recipe["seed"], "model": recipe["model"], stage: part}


def _with_defaults(written: dict[str, Any]) -> dict[str, Any]:
    """What a recipe said when it was written: keys that came later have their defaults."""
    try:
        return tomllib.loads(canonical_toml(Recipe.model_validate(written)))
    except ValueError:
        # Some key of it is there no more. What it was is named below.
        return written


def _differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            where = f"{place}.{key}" if place else key
            yield from _differences(before.get(key, _ABSENT), now.get(key, _ABSENT), where)
    elif before != now:
        yield f"`{place}` was {_display(before)} and is {_display(now)}"


def _display(value: Any) -> str:
    return "not set" if value is _ABSENT else repr(value)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
