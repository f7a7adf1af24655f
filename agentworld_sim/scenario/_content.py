"""The files of a scenario, and the goals that are checked against them."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from agentworld_sim.errors import nearest
from agentworld_sim.scenario._types import (
    AbsolutePath,
    Account,
    Base64,
    Instant,
    KeyedProblems,
    LinkTarget,
    Mode,
    Regex,
    RelativePath,
    Strict,
)


class _Owned(Strict):
    mtime: Instant | None = None
    """When it was last changed; the scenario's clock by default."""
    owner: Account | None = None
    """By default the agent's user below its home and working directory, and root elsewhere."""
    group: Account | None = None
    """The owner's name by default."""


class TextFile(_Owned):
    """A file with this text, in UTF-8."""

    text: str
    """The content."""
    mode: Mode | None = None
    """Permission bits; 0644 by default."""


class Base64File(_Owned):
    """A file with any content."""

    base64: Base64
    """The content in base64; line breaks are ignored."""
    mode: Mode | None = None
    """Permission bits; 0644 by default."""


class CopiedFile(_Owned):
    """A file or a whole folder from beside the scenario file."""

    from_: RelativePath = Field(alias="from")
    """Path relative to the scenario file."""
    mode: Mode | None = None
    """Permission bits of a file; 0755 if its owner may run it and 0644 otherwise by default."""


class Directory(_Owned):
    """An empty directory, or the mode and owner of one that other entries fill."""

    directory: Literal[True]
    """Always true."""
    mode: Mode | None = None
    """Permission bits; 0755 by default."""


class Link(_Owned):
    """A symbolic link."""

    link: LinkTarget
    """What it points to, as written in the link."""


FILE_FORMS: dict[str, type[_Owned]] = {
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

_CONDITIONS = ("exists", "equals", "contains", "matches", "unchanged")


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
    def _one_condition(self) -> FileGoal:
        given = [name for name in _CONDITIONS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            message = (
                f"found {found} of the conditions {', '.join(_CONDITIONS)}; allowed: exactly one. "
                "Write one goal for each condition."
            )
            raise KeyedProblems([((), message)])
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


def _goal_form(value: object) -> str | None:
    if isinstance(value, dict):
        return next((f"<{form} goal>" for form in ("file", "command") if form in value), None)
    if isinstance(value, FileGoal):
        return "<file goal>"
    return "<command goal>" if isinstance(value, CommandGoal) else None


Goal = Annotated[
    Annotated[FileGoal, Tag("<file goal>")] | Annotated[CommandGoal, Tag("<command goal>")],
    Discriminator(
        _goal_form, custom_error_type="goal_form", custom_error_message="not a form of goal"
    ),
]


def form_hint(kind: str, value: object) -> str:
    """What an entry that is no form of file or goal should look like."""
    if kind == "file_form":
        forms = (*FILE_FORMS, "mode", "mtime", "owner", "group")
        text = (
            "the content as text, or a mapping with exactly one of the keys "
            f"{', '.join(FILE_FORMS)}."
        )
    else:
        forms = ("file", "command")
        text = "a mapping with the key `file` or the key `command`."
    keys = (
        [str(key) for key in cast("dict[object, object]", value)] if isinstance(value, dict) else []
    )
    hints = (nearest(key, forms) for key in keys if key not in forms)
    return text + next((hint for hint in hints if hint), "")


__all__ = [
    "FILE_FORMS",
    "Base64File",
    "CommandGoal",
    "CopiedFile",
    "Directory",
    "FileGoal",
    "FileSpec",
    "Goal",
    "Link",
    "TextFile",
    "form_hint",
]
