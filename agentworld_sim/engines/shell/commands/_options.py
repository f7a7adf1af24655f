"""Command lines read as GNU `getopt_long` reads them, with its complaints.

A tool's options are written as `getopt` writes them: `"ab:c::"` and `{"long-name": "a", ...}`. A long
option that maps to a letter takes an argument as that letter does; one that maps to `":"`, `"::"` or
`""` says so itself and keeps its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentworld_sim.engines.shell._command import CommandResult


class UsageError(Exception):
    """A command line the tool refuses. Carries what it prints and its exit code."""

    def __init__(self, stderr: str, exit_code: int = 1) -> None:
        super().__init__(stderr)
        self.result = CommandResult("", stderr, exit_code)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Options in the order given, and what is left."""

    options: Sequence[tuple[str, str]]
    operands: Sequence[str]

    def __contains__(self, name: str) -> bool:
        return any(name == given for given, _ in self.options)

    def last(self, *names: str) -> str | None:
        """The one of `names` given last."""
        return next((given for given, _ in reversed(self.options) if given in names), None)

    def value(self, name: str) -> str | None:
        return next((value for given, value in reversed(self.options) if given == name), None)

    def values(self, name: str) -> list[str]:
        return [value for given, value in self.options if given == name]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one tool."""

    short: str
    long: Mapping[str, str]
    exit_code: int = 1
    """Of a command line that is refused."""
    help_hint: bool = True
    """Whether "Try '… --help' for more information." follows a complaint."""
    name_in_hint: bool = False
    """Whether the hint begins with the tool's name, too."""
    in_order: bool = False
    """Options end at the first operand."""

    def parse(self, name: str, argv: Sequence[str]) -> CommandLine:
        """Reads `argv`.

        Raises:
            UsageError: an option is unknown, ambiguous, lacks its argument or has one too many.
        """
        return _Reader(self, name, argv).read()

    def refuse(self, name: str, complaint: str) -> UsageError:
        hint = f"Try '{name} --help' for more information.\n" if self.help_hint else ""
        hint = f"{name}: {hint}" if self.name_in_hint else hint
        return UsageError(f"{name}: {complaint}\n{hint}", self.exit_code)

    def takes(self, letter: str) -> str:
        """How many arguments a short option takes: none, one (`:`) or perhaps one (`::`)."""
        rest = self.short[self.short.index(letter) + 1 :]
        return rest[: len(rest) - len(rest.lstrip(":"))]


class _Reader:
    def __init__(self, spec: Options, name: str, argv: Sequence[str]) -> None:
        self.spec, self.name = spec, name
        self.words = list(argv)
        self.options: list[tuple[str, str]] = []

    def read(self) -> CommandLine:
        operands: list[str] = []
        while self.words:
            word = self.words.pop(0)
            if word == "--":
                operands += self.words
                break
            if word.startswith("--"):
                self._long(word[2:])
            elif word.startswith("-") and word != "-":
                self._short(word[1:])
            else:
                operands.append(word)
                if self.spec.in_order:
                    operands += self.words
                    break
        return CommandLine(self.options, operands)

    def _short(self, letters: str) -> None:
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter == ":" or letter not in self.spec.short:
                raise self.spec.refuse(self.name, f"invalid option -- '{letter}'")
            takes = self.spec.takes(letter)
            if not takes:
                self.options.append((letter, ""))
                continue
            if not letters and takes == ":":
                if not self.words:
                    raise self.spec.refuse(self.name, f"option requires an argument -- '{letter}'")
                letters = self.words.pop(0)
            self.options.append((letter, letters))
            return

    def _long(self, word: str) -> None:
        given, equals, value = word.partition("=")
        found = self._full_name(given)
        kind = self.spec.long[found]
        key, takes = (found, kind) if kind.strip(":") == "" else (kind, self.spec.takes(kind[0]))
        if equals and not takes:
            raise self.spec.refuse(self.name, f"option '--{found}' doesn't allow an argument")
        if takes == ":" and not equals:
            if not self.words:
                raise self.spec.refuse(self.name, f"option '--{found}' requires an argument")
            value = self.words.pop(0)
        self.options.append((key, value))

    def _full_name(self, given: str) -> str:
        if given in self.spec.long:
            return given
        near = [name for name in self.spec.long if name.startswith(given)]
        meanings = {self.spec.long[name] or name for name in near}
        if not near:
            raise self.spec.refuse(self.name, f"unrecognized option '--{given}'")
        if len(meanings) > 1:
            choices = " ".join(f"'--{name}'" for name in near)
            raise self.spec.refuse(
                self.name, f"option '--{given}' is ambiguous; possibilities: {choices}"
            )
        return near[0]
