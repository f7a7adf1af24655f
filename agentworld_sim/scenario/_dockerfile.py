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
_VARIABLE = lazy_compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
_FLAG = lazy_compile(r"--([\w-]+)(?:=(\S+))?\s+")
_BASE = lazy_compile(r"(?:python|ubuntu|debian|buildpack-deps)\b(?!.*(?:alpine|windows))")
"""Images that are Debian, or close to it, with Python and nothing else."""

_CARRIED_OUT = ("RUN", "COPY", "ADD", "ENV", "ARG", "WORKDIR", "USER")
_SILENT = "CMD ENTRYPOINT EXPOSE LABEL VOLUME SHELL HEALTHCHECK STOPSIGNAL MAINTAINER".split()
"""Instructions that change no file, and say nothing that a shell in the image would show."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile."""

    name: str
    """In upper case."""
    text: str
    """What follows it, lines joined; variables are still in it."""
    where: str
    """File and line."""
    heredoc: str = ""
    """The lines of the here-document that it is followed by."""

    def words(self, variables: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Its flags and its words, with the variables put in. A JSON array is its words."""
        text, flags = with_variables(self.text, variables), dict[str, str]()
        while match := _FLAG.match(text):
            flags[match[1]] = match[2] or ""
            text = text[match.end() :]
        try:
            words = cast("list[str]", json.loads(text)) if text[:1] == "[" else shlex.split(text)
        except ValueError as error:
            raise ScenarioError(f"{self.where}: {error}") from error
        if not words:
            raise ScenarioError(f"{self.where}: {self.name} says nothing.")
        return flags, words

    @property
    def script(self) -> str:
        """What a `RUN` gives to the shell. A here-document alone is the script; after a command it is what that reads."""
        if start := _HEREDOC.search(self.text):
            alone = start.start() == 0
            return self.heredoc if alone else f"{self.text}\n{self.heredoc}{start[2]}\n"
        words = self.words({})[1] if self.text[:1] == "[" else []
        return shlex.join(words) if words else re.sub(r"^(?:--[\w-]+=\S+\s+)+", "", self.text)


def with_variables(text: str, variables: Mapping[str, str]) -> str:
    """A text with `$NAME`, `${NAME}` and `${NAME:-default}` put in."""
    return _VARIABLE.sub(lambda one: variables.get(one[1] or one[2]) or one[3] or "", text)


def read_dockerfile(text: str, source: str) -> list[Instruction]:
    """The instructions after `FROM`, without those that change nothing.

    Raises:
        ScenarioError: the image is no plain Debian or Python, or an instruction has no counterpart in a world.
    """
    found: list[Instruction] = []
    arguments: dict[str, str] | None = {}
    for one in _instructions(text, source):
        if one.name == "FROM":
            if arguments is None:
                raise ScenarioError(f"{one.where}: a second FROM; a world is made of one stage.")
            image, arguments = one.words(arguments)[1][0], None
            if not _BASE.match(image.rpartition("/")[2]):
                raise ScenarioError(
                    f"{one.where}: the image {image!r} is not known here. Tasks are made into worlds whose"
                    " image is python, debian, ubuntu or buildpack-deps."
                )
        elif arguments is not None and one.name == "ARG":
            name, _, value = one.text.partition("=")
            arguments[name] = value.strip("'\"")
        elif one.name in _CARRIED_OUT:
            found.append(one)
        elif one.name not in _SILENT:
            raise ScenarioError(f"{one.where}: {one.name} has no counterpart in a world.")
    if arguments is not None:
        raise ScenarioError(f"{source}: there is no FROM, so this is not a Dockerfile.")
    return found


def _instructions(text: str, source: str) -> Iterator[Instruction]:
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        whole = line.strip()
        if not whole or whole.startswith("#"):
            continue
        while whole.endswith("\\"):
            more = next(lines, (0, None))[1]
            whole = whole if more is not None else whole[:-1]
            # Comments and empty lines between do not end it.
            if more and not more.lstrip().startswith("#"):
                whole = whole[:-1] + more.rstrip()
        name, _, rest = whole.partition(" ")
        name, body = name.upper(), list[str]()
        start = _HEREDOC.search(rest) if name in ("RUN", "COPY", "ADD") else None
        while start and (more := next(lines, (0, start[2]))[1]).strip() != start[2]:
            body.append(f"{more}\n")
        yield Instruction(name, rest.strip(), f"{source}:{number}", "".join(body))
