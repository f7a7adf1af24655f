"""The files of a scenario, and the goals that are checked against them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    WithJsonSchema,
    model_validator,
)

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.fiction.answer_scores import CellMetric, GoldTable, Metric, Preprocess
from agentworld_sim.scenario._types import (
    AbsolutePath,
    Account,
    Base64,
    Instant,
    KeyedProblems,
    LinkTarget,
    Matching,
    Mode,
    Regex,
    RelativePath,
    Slug,
    Strict,
    mismatch,
)
from agentworld_sim.scenario.tables import TableName


class _Entry(Strict):
    mtime: Instant | None = None
    """When it was last changed; the scenario's clock by default."""
    owner: Account | None = None
    """By default the agent's user below its home and working directory, and root elsewhere."""
    group: Account | None = None
    """The owner's name by default."""


class TextFile(_Entry):
    """A file with this text, in UTF-8."""

    text: str
    """The content."""
    mode: Mode | None = None
    """Permission bits; 0644 by default."""


class Base64File(_Entry):
    """A file with any content."""

    base64: Base64
    """The content in base64; line breaks are ignored."""
    mode: Mode | None = None
    """Permission bits; 0644 by default."""


class CopiedFile(_Entry):
    """A file or a whole folder from beside the scenario file."""

    from_: RelativePath = Field(alias="from")
    """Path relative to the scenario file."""
    mode: Mode | None = None
    """Permission bits of a file; 0755 if its owner may run it and 0644 otherwise by default."""


class Directory(_Entry):
    """An empty directory, or the mode and owner of one that other entries fill."""

    directory: Literal[True]
    """Always true."""
    mode: Mode | None = None
    """Permission bits; 0755 by default."""


class Link(_Entry):
    """A symbolic link."""

    link: LinkTarget
    """What it points to, as written in the link."""


FILE_FORMS: dict[str, type[_Entry]] = {
    "text": TextFile,
    "base64": Base64File,
    "from": CopiedFile,
    "directory": Directory,
    "link": Link,
}
"""The key that decides what an entry of `files` is."""


def _file_form(value: object) -> str | None:
    if isinstance(value, str):
        return "<plain>"
    if isinstance(value, dict):
        return next((f"<{form}>" for form in FILE_FORMS if form in value), None)
    return next((f"<{form}>" for form, kind in FILE_FORMS.items() if isinstance(value, kind)), None)


def _plain(value: object) -> object:
    return {"text": value}


FileSpec = Annotated[
    Annotated[
        TextFile,
        BeforeValidator(_plain),
        WithJsonSchema({"type": "string", "description": "A file with this text, mode 0644."}),
        Tag("<plain>"),
    ]
    | Annotated[TextFile, Tag("<text>")]
    | Annotated[Base64File, Tag("<base64>")]
    | Annotated[CopiedFile, Tag("<from>")]
    | Annotated[Directory, Tag("<directory>")]
    | Annotated[Link, Tag("<link>")],
    Discriminator(
        _file_form, custom_error_type="file_form", custom_error_message="not a form of file"
    ),
]


def _whole(spec: FileSpec) -> FileSpec:
    if isinstance(spec, CopiedFile):
        raise mismatch("a file with its content: a goal is kept beside the world, without a folder")
    return spec


HiddenFile = Annotated[FileSpec, AfterValidator(_whole)]


def _require_one(goal: Strict, *conditions: str) -> None:
    given = [name for name in conditions if getattr(goal, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        message = (
            f"found {found} of the conditions {', '.join(conditions)}; allowed: exactly one. "
            "Write one goal for each condition."
        )
        raise KeyedProblems([((), message)])


class FileGoal(Strict):
    """One condition on one file of the world, at the end."""

    file: AbsolutePath
    """The path it is about. Links are followed."""
    exists: bool | None = None
    """Whether anything is there."""
    equals: str | None = None
    """The whole content."""
    contains: str | None = None
    """A part of the content."""
    matches: Regex | None = None
    """A Python regular expression that is found in the content; `^` and `$` match at lines."""
    unchanged: Literal[True] | None = None
    """The content is what it was at the start."""

    @model_validator(mode="after")
    def _check_condition(self) -> FileGoal:
        _require_one(self, "exists", "equals", "contains", "matches", "unchanged")
        return self


class CommandGoal(Strict):
    """What a command says in the world, at the end. It runs in a fork, and changes nothing."""

    command: Annotated[str, Field(min_length=1)]
    """Shell text; it starts in the machine's working directory."""
    exit_code: Annotated[int, Field(ge=0, le=255)] = 0
    """The exit status it must have."""
    stdout_contains: str | None = None
    """A part of what it prints."""
    stdout_equals: str | None = None
    """All of what it prints."""
    files: Mapping[AbsolutePath, HiddenFile] = Field(default_factory=dict[str, FileSpec])
    """Files that are there while it runs, such as the tests that judge, and that no agent sees. A `directory` among
    them begins empty."""


Fields = Annotated[Mapping[str, JsonValue], Field(min_length=1)]


class RecordGoal(Strict):
    """What became of records of one table, compared with the start."""

    record: TableName
    """The table it is about."""
    where: Fields | None = None
    """For `changed`: fields, with the values at the start, of the records that it is about."""
    added: Fields | None = None
    """Fields of exactly one record that was not there at the start."""
    changed: Fields | None = None
    """Fields that the records of `where` have now, and did not all have at the start."""
    deleted: Fields | None = None
    """Fields of records that were there at the start; none of them is there any more."""

    @model_validator(mode="after")
    def _check_condition(self) -> RecordGoal:
        _require_one(self, "added", "changed", "deleted")
        if (self.changed is None) != (self.where is None):
            message = (
                "`where` and `changed` belong together: `where` names records by their fields at the "
                "start, and `changed` says which fields they have now."
            )
            raise KeyedProblems([((), message)])
        return self


class UnchangedFilesGoal(Strict):
    """A part of the file system that is as it was at the start: no file added, changed or deleted."""

    unchanged: AbsolutePath
    """A path, with everything below it."""
    besides: tuple[AbsolutePath, ...] = Field(default=(), strict=False)
    """Paths that may differ, with everything below them."""


class UnchangedRecordsGoal(Strict):
    """A table that is as it was at the start: no record added, changed or deleted."""

    unchanged: TableName
    """The table."""
    besides: Fields | None = None
    """Fields of records that may differ: they have them at the start or now."""


class RequestGoal(Strict):
    """A form that a site of the world accepted."""

    request: Annotated[str, Matching(r"/[^\s?#]*", "a path, such as /f/books/{id}/-/comment")]
    """Its path; `{name}` stands for any part."""
    site: Slug | None = None
    """The site; any by default."""
    method: Literal["POST"] = "POST"
    """Its method."""
    fields: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Fields that were sent, as text; there may be others."""
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    """The status of the answer; any by default."""


class PageGoal(Strict):
    """The page that the browser shows at the end."""

    page: Annotated[str, Field(min_length=1)]
    """Its address, or its path with the query."""
    contains: str | None = None
    """A part of its text."""


class NothingElseGoal(Strict):
    """No record is changed but as the other goals say."""

    nothing_else: Literal["records"]
    """What is watched."""
    besides: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), strict=False)
    """Tables, and fields as `table.field`, that may change all the same."""


class MetricSpec(Strict):
    """How the cells of a column are compared."""

    metric: Metric
    """How."""
    criterion: Annotated[float, Field(ge=0)] = 0.0
    """For `number_near`: how far an answer may be, as a share of the right value."""
    preprocess: Annotated[tuple[Preprocess, ...], Field(strict=False)] = ()
    """What is done to both before."""


class AnswerGoal(Strict):
    """The table that the agent hands in, in Markdown, held against the right one."""

    answer: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    """The columns of the table."""
    rows: Annotated[
        tuple[Annotated[tuple[str | int | float, ...], Field(strict=False)], ...],
        Field(strict=False, min_length=1),
    ]
    """Its rows, each with a value for each column."""
    unique: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    """The columns that tell rows apart."""
    metrics: Mapping[str, MetricSpec] = Field(default_factory=dict[str, MetricSpec])
    """How the cells of the other columns are compared."""
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The F1 of the items that the answer must reach."""
    withheld: bool = True
    """Whether no result of a search shows the values of columns that are not unique: the agent must open pages."""

    def gold(self) -> GoldTable:
        """The right table.

        Raises:
            UsageError: it contradicts itself.
        """
        return GoldTable(
            columns=self.answer,
            rows=self.rows,
            unique_columns=self.unique,
            metrics={name: CellMetric(**dict(one)) for name, one in self.metrics.items()},
        )

    @model_validator(mode="after")
    def _check_table(self) -> AnswerGoal:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.answer):
                message = (
                    f"found {len(row)} values; allowed: {len(self.answer)}, one for each column."
                )
                raise KeyedProblems([(("rows", number), message)])
        try:
            self.gold()
        except UsageError as error:
            raise KeyedProblems([((), str(error))]) from None
        return self


class ValueGoal(Strict):
    """The one value that the agent hands in."""

    answer: Annotated[str, Field(min_length=1)] | int | float
    """A text, where case, spaces and a full stop at the end do not matter; or a number, which is the only one in
    what was handed in, however it is written: `1,250.00`, `$1250`, `1250 units`."""


def withheld_values(goals: Iterable[Strict]) -> list[str | int | float]:
    """What results of a search must not show, because it is the answer."""
    values = (
        value
        for goal in goals
        if isinstance(goal, AnswerGoal) and goal.withheld
        for row in goal.rows
        for name, value in zip(goal.answer, row, strict=True)
        if name not in goal.unique
    )
    return list(dict.fromkeys(values))


def _goal_form(value: object) -> str | None:
    if not isinstance(value, dict):
        return next((form for form, kind in GOAL_FORMS.items() if isinstance(value, kind)), None)
    key = next((key for key in GOAL_KEYS if key in value), None)
    if key not in ("unchanged", "answer"):
        return key and f"<{key} goal>"
    below = cast("dict[str, object]", value)[key]
    if key == "answer":
        return "<answer goal>" if isinstance(below, list | tuple) else "<value goal>"
    return f"<unchanged {'files' if str(below).startswith('/') else 'records'} goal>"


Goal = Annotated[
    Annotated[FileGoal, Tag("<file goal>")]
    | Annotated[CommandGoal, Tag("<command goal>")]
    | Annotated[RecordGoal, Tag("<record goal>")]
    | Annotated[UnchangedFilesGoal, Tag("<unchanged files goal>")]
    | Annotated[UnchangedRecordsGoal, Tag("<unchanged records goal>")]
    | Annotated[RequestGoal, Tag("<request goal>")]
    | Annotated[PageGoal, Tag("<page goal>")]
    | Annotated[NothingElseGoal, Tag("<nothing_else goal>")]
    | Annotated[AnswerGoal, Tag("<answer goal>")]
    | Annotated[ValueGoal, Tag("<value goal>")],
    Discriminator(
        _goal_form, custom_error_type="goal_form", custom_error_message="not a form of goal"
    ),
]


GOAL_KEYS = ("file", "command", "record", "unchanged", "answer", "request", "page", "nothing_else")
"""The key that says which form a goal is; the first one counts."""

GOAL_FORMS: Mapping[str, type[Strict]] = {
    "<file goal>": FileGoal,
    "<command goal>": CommandGoal,
    "<record goal>": RecordGoal,
    "<unchanged files goal>": UnchangedFilesGoal,
    "<unchanged records goal>": UnchangedRecordsGoal,
    "<request goal>": RequestGoal,
    "<page goal>": PageGoal,
    "<nothing_else goal>": NothingElseGoal,
    "<answer goal>": AnswerGoal,
    "<value goal>": ValueGoal,
}


def form_hint(kind: str, value: object) -> str:
    """What an entry that is no form of file or goal should look like."""
    if kind == "file_form":
        forms = (*FILE_FORMS, "mode", "mtime", "owner", "group")
        text = (
            "the content as text, or a mapping with exactly one of the keys "
            f"{', '.join(FILE_FORMS)}."
        )
    else:
        forms = GOAL_KEYS
        text = f"a mapping with one of the keys {', '.join(f'`{key}`' for key in GOAL_KEYS)}."
    keys = (
        [str(key) for key in cast("dict[object, object]", value)] if isinstance(value, dict) else []
    )
    hints = (nearest(key, forms) for key in keys if key not in forms)
    return text + next((hint for hint in hints if hint), "")
