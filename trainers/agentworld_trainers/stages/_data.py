"""The data stage: from sources of trajectories to the rows of every stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data._files import read_files
from agentworld_trainers.data._filter_counts import counts_table
from agentworld_trainers.data._rows import Demonstration, write_rows
from agentworld_trainers.data._source import SourceTrajectory
from agentworld_trainers.data._stage_rows import SourceItem, StageRows, stage_rows
from agentworld_trainers.recipes.loading import FILE
from agentworld_trainers.stages._checkpoints import whole_folder
from agentworld_trainers.stages._processes import verify_alone
from agentworld_trainers.user_functions import function_at, running

if TYPE_CHECKING:
    from agentworld_trainers.recipes import Recipe
    from agentworld_trainers.stages._run import Run, StageFolder

LAST = "filter_counts.json"
"""Written last: where it is, the stage is finished."""


def make_data(recipe: Recipe, run: Run) -> Path:
    """Makes the rows of all stages and returns their folder.

    `cpt.jsonl`, `sft.jsonl`, `rl.jsonl` and `eval.jsonl` hold rows; `filter_counts.json` (and
    `filter_counts.txt`, for people) says what was left out; `masking.json` and `masking.html` what masking does. The same recipe
    and the same inputs give the same bytes.

    Raises:
        UsageError: the source does not exist or gives what cannot be used, or nothing is left.
    """
    with run.stage("data") as stage:
        if (stage.folder / LAST).exists():
            stage.say(f"the data in {str(stage.folder)!r} is made already; `--fresh` makes it anew")
            return stage.folder
        verify_alone("making data", "Run `agentworld train data RECIPE` by itself first.")
        try:
            _make(recipe, stage)
        except BaseException as error:
            # Nothing stands on unfinished data: the next try may be told something else.
            (stage.folder / FILE).unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            raise WorldFailure(
                f"the data cannot be written to {str(stage.folder)!r}: {error.strerror}. What was"
                " written whole is kept; the same command goes on when there is room."
            ) from error
        return stage.folder


def _make(recipe: Recipe, stage: StageFolder) -> None:
    part = recipe.data
    given, total = _open_source(recipe)
    if total:
        with stage.progress(total, "trajectories") as told:
            rows = stage_rows(given, part, recipe.seed, told.step)
    else:
        rows = stage_rows(given, part, recipe.seed)
    _require_rows(rows, recipe)
    folder = stage.folder
    write_rows(folder / "cpt.jsonl", rows.documents)
    write_rows(folder / "sft.jsonl", (*rows.samples, *rows.demonstrations))
    write_rows(folder / "rl.jsonl", rows.single)
    write_rows(folder / "eval.jsonl", rows.held_out)
    _write(folder / "masking.json", _json(rows.report.to_json()))
    _write(folder / "masking.html", rows.report.to_html())
    if part.tokenizer:
        _train_tokenizer(recipe, folder / "tokenizer", rows)
    table = counts_table(rows.counts)
    _write(folder / "filter_counts.txt", table)
    _write(folder / LAST, _json(rows.counts))
    stage.say(table)


def _open_source(recipe: Recipe) -> tuple[Iterable[SourceItem], int]:
    """What the recipe's source gives, and how much that is; 0 where nobody knows."""
    part = recipe.data
    if part.source == "files":
        return read_files(part.files, part.settings), 0
    source = function_at(part.source, purpose="data source", arguments=("settings", "seed"))
    with running(part.source, "data source"):
        given: Any = source(part.settings, recipe.seed)
    if not isinstance(given, Iterable):
        raise UsageError(
            f"the data source {part.source!r} returned {type(given).__name__}, and must return"
            " trajectories: a list or a generator of SourceTrajectory."
        )
    return _check_trajectories(given, part.source), len(given) if isinstance(given, Sized) else 0


def _check_trajectories(given: Iterable[Any], source: str) -> Iterator[SourceItem]:
    numbered = enumerate(given, 1)
    while True:
        # Only what the source does is its fault, and not what is done with what it gives.
        with running(source, "data source"):
            number, one = next(numbered, (0, None))
        if not number:
            return
        if not isinstance(one, SourceTrajectory | Demonstration):
            raise UsageError(
                f"the data source {source!r} gave {type(one).__name__} as number {number}, and must"
                " give SourceTrajectory or Demonstration."
            )
        yield one


def _require_rows(rows: StageRows, recipe: Recipe) -> None:
    if rows.samples or rows.demonstrations:
        return
    raise UsageError(
        f"no training rows are left of {rows.counts['trajectories']:,} trajectories with"
        f" {rows.counts['samples']:,} turns from the source {recipe.data.source!r}:\n"
        f"{counts_table(rows.counts)}"
    )


def _train_tokenizer(recipe: Recipe, folder: Path, rows: StageRows) -> None:
    part = recipe.data
    train = function_at(part.tokenizer, purpose="tokenizer trainer")
    with running(part.tokenizer, "tokenizer trainer"):
        tokenizer: Any = train(_texts(rows), **part.tokenizer_settings)
    if not hasattr(tokenizer, "save_pretrained"):
        raise UsageError(
            f"the tokenizer trainer {part.tokenizer!r} returned {type(tokenizer).__name__}, which has"
            " no `save_pretrained`. It must return a tokenizer of transformers."
        )
    with whole_folder(folder) as partial:
        tokenizer.save_pretrained(str(partial))


def _texts(rows: StageRows) -> list[str]:
    """The texts of all training rows, each of them once."""
    found: dict[str, None] = {}
    for row in (*rows.samples, *rows.documents, *rows.demonstrations):
        found.update((message["content"], None) for message in row.messages)
        if isinstance(row, PredictionSample):
            found.update(((row.observation, None), (row.thinking, None)))
    found.pop("", None)
    return list(found)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
