"""One run of git: what it prints, its repository, its options, the paths it is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pygit2

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.git.git_failure import GitFailure, fatal, not_computed
from agentworld_sim.engines.shell.git.git_settings import Setting, settings_of, with_config
from agentworld_sim.engines.shell.git.repository import Repository, entries, text_of
from agentworld_sim.engines.shell.glob_patterns import name_matcher
from agentworld_sim.types.files import normal_path


@dataclass(frozen=True, slots=True)
class GitLine(CommandLine):
    """The command line of a subcommand; `operands` are those before `--`."""

    rest: list[str] | None
    """What follows `--`; `None` without one."""

    @property
    def words(self) -> list[str]:
        return [*self.operands, *(self.rest or ())]


Answer = Callable[["GitRun", GitLine], None]
Subcommand = Callable[["GitRun", Sequence[str]], None]


class GitOptions(Options):
    """Options of one subcommand; those that it does not list are not computed."""

    def refuse(self, name: str, complaint: str) -> UsageError:
        raise not_computed(f"{name}: {complaint}")

    def read(self, name: str, argv: Sequence[str]) -> GitLine:
        words, rest = list(argv), None
        if "--" in words:
            at = words.index("--")
            words, rest = words[:at], words[at + 1 :]
        if "n:" in self.short:
            words = [re.sub(r"^-(\d+)$", r"-n\1", word) for word in words]
        for word in words:
            # git knows more options, so that what is short for one of these may be short for two.
            if word[:2] == "--" and word[2:].partition("=")[0] not in self.long:
                self.refuse(name, word)
        line = self.parse(name, words)
        return GitLine(line.options, line.operands, rest)


def options(short: str = "", long: str = "") -> GitOptions:
    """Options from a list of long ones: `all=a` stands for a short one, `date:` takes a value, `color::` perhaps."""
    words = (re.fullmatch(r"([^=:]+)=?(.*)", word) for word in long.split())
    return GitOptions(short, {match[1]: match[2] for match in words if match})


def takes(short: str = "", long: str = "") -> Callable[[Answer], Subcommand]:
    """Makes a subcommand of a function that gets its command line; the options are as those of `options`."""
    spec = options(short, long)
    return lambda answer: lambda run, argv: answer(run, spec.read(run.command, argv))


class Paths:
    """Which paths a command is about; without any given, all."""

    def __init__(self, repo: Repository, given: Sequence[str]) -> None:
        self.given = given
        self._tests: list[tuple[str, Callable[[str], bool]]] = []
        self._without: list[Callable[[str], bool]] = []
        self._used: set[str] = set()
        for text in given:
            plain = re.sub(r"^:(!|\^|\(exclude\))", "", text)
            name = re.sub(r"^:(/|\(top\))", "", plain)
            if name.startswith(":"):
                raise not_computed(f"… {text}")
            test = _path_test(name if name != plain else repo.name_of(plain))
            if plain != text:
                self._without.append(test)
            else:
                self._tests.append((text, test))

    def __contains__(self, path: str) -> bool:
        if any(test(path) for test in self._without):
            return False
        hits = [text for text, test in self._tests if test(path)]
        self._used.update(hits)
        return bool(hits) or not self._tests

    def find(self, repo: Repository) -> None:
        """Notes which of those given fit a file of the index."""
        for path, _ in entries(repo.library.index):
            self.__contains__(path)

    @property
    def unused(self) -> list[str]:
        """Those given that fitted no path asked about so far."""
        return [text for text, _ in self._tests if text not in self._used]


def _path_test(name: str) -> Callable[[str], bool]:
    glob = name_matcher(name) if set(name) & set("*?[") else None
    return lambda path: (
        not name or path == name or path.startswith(f"{name}/") or bool(glob and glob(path))
    )


@dataclass
class GitRun:
    """What one command of git works with."""

    call: CommandCall
    folder: str
    extra: list[Setting]
    out: list[str] = field(default_factory=list[str])
    err: list[str] = field(default_factory=list[str])
    exit_code: int = 0
    command: str = ""

    @cached_property
    def repo(self) -> Repository:
        return Repository(self.call, self.folder, self.extra)

    def do(self, subcommand: Subcommand, argv: Sequence[str]) -> None:
        """Runs a subcommand; the world has its changes when it has ended, or none of them."""
        try:
            subcommand(self, argv)
            if "repo" in self.__dict__:
                self.repo.finish()
        except BaseException:
            if "repo" in self.__dict__ and self.repo.written:
                self.repo.copy.forget()
            raise

    @property
    def tree(self) -> Repository:
        """The repository, which must have a work tree."""
        if self.repo.bare:
            raise fatal("this operation must be run in a work tree")
        return self.repo

    @property
    def settings(self) -> list[Setting]:
        """What holds here, also outside of a repository."""
        try:
            return self.repo.settings
        except GitFailure:
            return [*settings_of(self.call), *self.extra]

    def setting(self, name: str, default: str = "") -> str:
        return next((value for key, value in reversed(self.settings) if key == name), default)

    def set_config(self, name: str, value: str | None, path: str | None = None) -> None:
        """Sets a setting of a file, by default the repository's, or takes it away."""

        def change(config: pygit2.Config) -> None:
            if value is None:
                del config[name]
            else:
                config[name] = value

        if path is None:
            try:
                path = f"{self.repo.git_dir}/config"
            except GitFailure:
                raise fatal("not in a git directory") from None
        with_config(self.call, path, change, write=True)
        self.repo.__dict__.pop("settings", None) if "repo" in self.__dict__ else None

    @property
    def editor_does_nothing(self) -> bool:
        """Whether a message may stay as it is: there is no terminal for another editor."""
        env = self.call.env
        editor = env.get("GIT_EDITOR") or self.setting("core.editor") or env.get("EDITOR", "")
        return editor in ("true", ":", "cat")

    def fail(self, text: str, exit_code: int) -> None:
        self.err.append(text)
        self.exit_code = exit_code

    def say(self, text: str) -> None:
        self.out.append(text + "\n")

    def complain(self, text: str) -> None:
        self.err.append(text + "\n")

    def path(self, given: str) -> str:
        return normal_path(given if given[:1] == "/" else f"{self.folder}/{given}")

    def read(self, name: str) -> str:
        """A file named on the command line, `-` for standard input."""
        if name == "-":
            return text_of(self.call.read_stdin())
        try:
            return text_of(self.call.files.read(self.path(name)))
        except OSError as failure:
            raise fatal(f"could not read log file '{name}': {failure.strerror}") from None

    def revisions_and_paths(self, line: GitLine) -> tuple[list[str], list[str]]:
        """Tells revisions from paths as git does: up to the first operand that is no revision."""
        words = list(line.operands)
        if line.rest is not None:
            for name in words:
                self.range_of(name)
            return words, line.rest
        for at, name in enumerate(words):
            try:
                self.range_of(name)
            except GitFailure:
                if any(
                    not set(path) & set("*?[") and path[:1] != ":" and not self._is_there(path)
                    for path in words[at:]
                ):
                    raise
                return words[:at], words[at:]
        return words, []

    def _is_there(self, name: str) -> bool:
        return (self.repo.library and self.repo.folder / self.repo.name_of(name)).exists()

    def range_of(self, name: str) -> tuple[list[str], list[str]]:
        """The objects that a word of `log` names, and the commits that it leaves out."""
        repo = self.repo
        if name.startswith("^"):
            return [], [str(repo.commit(name[1:]).id)]
        for dots in ("...", ".."):
            one, found, other = name.partition(dots)
            if found and not name.startswith(("../", "./")) and name != "..":
                ids = [str(repo.commit(side or "HEAD").id) for side in (one, other)]
                if dots == "..":
                    return ids[1:], ids[:1]
                base = repo.merge_base(*ids)
                return ids, [base] if base else []
        return [repo.resolve(name)], []
