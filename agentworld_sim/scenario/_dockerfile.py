"""What a Dockerfile says, instruction by instruction, as far as a world can be made of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from agentworld_sim.errors import ScenarioError
from agentworld_sim.regex import lazy_compile

_HEREDOC = lazy_compile(r"<<-?\s*(['\"]?)(\w+)\1")
_VARIABLE = lazy_compile(r"\$(?:(\w+)|\{(\w+)(?::([-+])([^}]*))?\})")
_BASE = lazy_compile(r"(?:python|ubuntu|debian|buildpack-deps)\b(?!.*(?:alpine|windows))")
"""Images that are Debian, or close to it, with Python and nothing else."""

_SILENT = frozenset(
    "CMD ENTRYPOINT EXPOSE LABEL VOLUME SHELL HEALTHCHECK STOPSIGNAL MAINTAINER".split()
)
"""Instructions that change no file, and say nothing that a shell in the image would show."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile."""

    name: str
    """In upper case."""
    text: str
    """What follows it, lines joined; variables are still in it."""
    line: int
    heredoc: str | None = None
    """The lines of the here-document that it is followed by."""

    def words(self, variables: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Its flags and its words, with the variables put in. A JSON array is its words."""
        text, flags = with_variables(self.text, variables), dict[str, str]()
        while match := re.match(r"--([\w-]+)(?:=(\S+))?\s+", text):
            flags[match[1]] = match[2] or ""
            text = text[match.end() :]
        if text.startswith("["):
            return flags, cast("list[str]", json.loads(text))
        return flags, shlex.split(text)


def with_variables(text: str, variables: Mapping[str, str]) -> str:
    """A text with `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` put in."""

    def value(match: re.Match[str]) -> str:
        held = variables.get(match[1] or match[2], "")
        if match[3] == "+":
            return match[4] if held else ""
        return held or match[4] or ""

    return _VARIABLE.sub(value, text)


def read_dockerfile(text: str, source: str) -> list[Instruction]:
    """The instructions after `FROM`, without those that change nothing.

    Raises:
        ScenarioError: the image is no plain Debian or Python, or an instruction has no counterpart in a world.
    """
    found: list[Instruction] = []
    arguments: dict[str, str] = {}
    based = False
    for one in _instructions(text):
        where = f"{source}:{one.line}"
        if one.name == "FROM":
            if based:
                raise ScenarioError(f"{where}: a second FROM; a world is made of one stage.")
            based = True
            image = one.words(arguments)[1][0]
            if not _BASE.match(image.rpartition("/")[2]):
                raise ScenarioError(
                    f"{where}: the image {image!r} is not known here. Tasks are made into worlds whose image"
                    " is python, debian, ubuntu or buildpack-deps."
                )
        elif not based and one.name == "ARG":
            name, _, value = one.text.partition("=")
            arguments[name] = value.strip("'\"")
        elif one.name in ("RUN", "COPY", "ADD", "ENV", "ARG", "WORKDIR", "USER"):
            found.append(one)
        elif one.name not in _SILENT:
            raise ScenarioError(
                f"{where}: the instruction {one.name} has no counterpart in a world."
            )
    if not based:
        raise ScenarioError(f"{source}: there is no FROM, so this is not a Dockerfile.")
    return found


def _instructions(text: str) -> Iterator[Instruction]:
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line.strip()
        while whole.endswith("\\"):
            more = next(lines, (0, ""))[1]
            if not more.lstrip().startswith("#"):
                whole = f"{whole[:-1]}{more.rstrip()}" if more.strip() else f"{whole[:-1]}\\"
            if not more:
                whole = whole.removesuffix("\\")
                break
        name, _, rest = whole.partition(" ")
        name = name.upper()
        start = _HEREDOC.search(rest) if name in ("RUN", "COPY", "ADD") else None
        body: list[str] | None = None
        if start is not None:
            body = []
            for _, more in lines:
                if more.strip() == start[2]:
                    break
                body.append(more)
        heredoc = None if body is None else "".join(f"{one}\n" for one in body)
        yield Instruction(name, rest.strip(), number, heredoc)


def script_of(run: Instruction) -> str:
    """What a `RUN` gives to the shell."""
    start = _HEREDOC.match(run.text)
    if run.heredoc is not None:
        # Alone it is the script; after a command it is what the command reads.
        end = cast("re.Match[str]", _HEREDOC.search(run.text))[2]
        return run.heredoc if start else f"{run.text}\n{run.heredoc}{end}\n"
    if run.text.startswith("["):
        return shlex.join(run.words({})[1])
    return re.sub(r"^(?:--[\w-]+=\S+\s+)+", "", run.text)
