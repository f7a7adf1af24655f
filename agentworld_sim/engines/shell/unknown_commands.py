"""What one world's shell does with commands that it does not have.

A script is run; when it calls such a command and the turn has no answer for it yet, the script is
stopped (`UnansweredQuestion`), somebody is asked, and the turn is computed again from its beginning with the
answer at hand. A name that turns out to be a command only while the script runs is learned in the same
way (`StaleNames`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import get_args

from bashkit import Bash, BashError, ScriptAnalysis

from agentworld_sim.engines.shell import script_analysis
from agentworld_sim.engines.shell._command import HELPER, CommandCall, CommandResult
from agentworld_sim.engines.shell.command_question import (
    CommandQuestion,
    digest_of,
    question_of,
    stdin_hash,
)
from agentworld_sim.engines.shell.commands import commands_of, missing_on, names_in_path
from agentworld_sim.engines.shell.commands.helper import BUILTINS
from agentworld_sim.engines.shell.file_operations import (
    CommandAnswer,
    Impossible,
    Plan,
    Step,
    carry_out,
    plan_of,
)
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.programs import (
    COMMON_PROGRAMS,
    PROGRAM_FOLDERS,
    Program,
    in_path,
    names_of,
    only_looks,
    program_at,
)
from agentworld_sim.engines.shell.script_analysis import SIMPLE_COMMANDS
from agentworld_sim.engines.shell.session import ShellSession, texts_kept_by
from agentworld_sim.errors import AccessRefused, EngineFailure, UsageError, nearest
from agentworld_sim.types.files import FileTree, MemoryBlobs, content_sum, normal_path
from agentworld_sim.types.tools import Route
from agentworld_sim.types.turns import InnerAnswer, Turn


class Routes:
    """What a scenario says of commands, by name or glob pattern.

    `compute`: the shell, which says `command not found` when it does not have the command. `imagine`:
    the imaginer, also for a command that the shell has. `refuse`: the step is refused.
    """

    def __init__(self, routes: Mapping[str, Route]) -> None:
        """An exact name counts first, then the first pattern that fits.

        Raises:
            UsageError: no such route, or a builtin of the shell itself is not left to it.
        """
        for name, route in routes.items():
            if route not in get_args(Route):
                raise UsageError(
                    f"the command {name!r} has the route {route!r}."
                    f"{nearest(route, get_args(Route))} There are: {', '.join(get_args(Route))}."
                )
            if name in BUILTINS and route != "compute":
                raise UsageError(
                    f"the command {name!r} cannot have the route {route!r}: it is a builtin of the"
                    " shell itself, which always computes it. Leave it out."
                )
        self._routes = dict(routes)

    def setting(self, name: str) -> str | None:
        """The name or pattern that decides about `name`; `None` if nothing was said."""
        if name in BUILTINS:
            return None
        if name in self._routes:
            return name
        return next((key for key in self._routes if fnmatchcase(name, key)), None)

    def of(self, name: str) -> Route | None:
        """The route of `name`; `None` if nothing was said of it."""
        setting = self.setting(name)
        return None if setting is None else self._routes[setting]


_REPOSITORY = re.compile(
    r"/\.git/(?!(config|description|hooks|info)(/|$))|\.git/(HEAD|objects|packed-refs|refs)(/|$)"
)

Named = tuple[tuple[str, ...], str]
"""Words of a command and the hash of its input."""

Key = tuple[tuple[str, ...], str, int]
"""Words of the command, hash of its input, how often the two came before in the turn."""


class UnansweredQuestion(BaseException):
    """The turn cannot go on without an answer. No failure: nothing may catch it on the way."""

    def __init__(self, key: Key, question: CommandQuestion) -> None:
        super().__init__(question.argv)
        self.key = key
        self.question = question


class StaleNames(BaseException):
    """The turn has to be computed again because names meant something else than was thought."""

    def __init__(self, *, commands: Iterable[str] = (), files: Iterable[str] = ()) -> None:
        super().__init__()
        self.commands = frozenset(commands)
        self.files = frozenset(files)


@lru_cache(maxsize=1)
def _embedded_names() -> frozenset[str]:
    """What the embedded shell has."""
    return frozenset(Bash().capabilities().builtins)


class CommandNames:
    """Which commands are computed and which are not: the same for all worlds of an engine."""

    def __init__(self, routes: Routes, machine: Machine) -> None:
        self.routes = routes
        missing = missing_on(machine)
        uninstalled = COMMON_PROGRAMS.difference(names_in_path(machine))
        self.programs = frozenset(name for name in uninstalled if routes.of(name) != "compute")
        """What looks installed: a file in `/usr/bin` that is imagined."""
        known = (*_embedded_names(), *commands_of(machine), *names_in_path(machine))
        plain = {name for name in known if name.isascii()}
        mine = {name for name in plain if "/" not in name and name not in BUILTINS}
        self.overridden = frozenset(
            name
            for name in mine
            if routes.of(name) in ("imagine", "refuse")
            or (name in missing and routes.of(name) is None)
        )
        """What the shell has and does not answer."""
        self.absent = missing - self.programs
        """What is not there for those who ask, though the embedded shell has it."""
        self._known = (mine - missing) | frozenset(BUILTINS) | self.programs
        self.simple = not self.overridden & SIMPLE_COMMANDS
        """Whether the scripts that are run without care can be."""

    def is_known(self, name: str) -> bool:
        """Whether the shell can call `name` by itself."""
        return name in self._known or name in self.overridden

    def is_computed(self, name: str) -> bool:
        return name in self._known - self.programs - self.overridden

    def is_foreign(self, program: Program) -> bool:
        """Whether the shell cannot run a program of the world's own: it has another interpreter, or is machine code."""
        return program.interpreter is not None


class TurnAnswers:
    """The answers of one turn, kept while it is computed again and again."""

    def __init__(self) -> None:
        self.given: dict[Key, tuple[CommandAnswer, str]] = {}
        """Answers and the digests of their questions."""
        self.asked: list[tuple[tuple[str, ...], CommandAnswer]] = []
        """In the order of asking."""
        self.seen = Counter[Named]()
        """How often each command came in this run of the turn."""
        self.used: list[Key] = []
        """What was answered in this run of the turn, in order."""

    def inner(self) -> tuple[InnerAnswer, ...]:
        """What goes into the turn, in the order in which the shell called the commands.

        Raises:
            EngineFailure: an answer was not used: the turn did not go the same way again.
        """
        for key in self.given.keys() - set(self.used):
            raise EngineFailure(
                f"The command {' '.join(key[0])!r} was answered, and not called when the turn was"
                " computed again: the shell did not do the same twice. Please report this script."
            )
        return tuple(
            InnerAnswer(*key, {**self.given[key][0].to_json(), "digest": self.given[key][1]})
            for key in self.used
        )


class UnknownCommands:
    """The commands that one world's shell does not have, and their answers."""

    def __init__(self, names: CommandNames, limits: ShellLimits) -> None:
        self.names = names
        self.words: dict[str, None] = {}
        """Names in this turn that may be unknown commands."""
        self.turn = TurnAnswers()
        self.said: set[str] = set()
        """Lines that this turn's imagined commands wrote."""
        self._limits = limits
        self._files: set[str] = set()
        self._both: set[str] = set()
        self._missed: set[str] = set()
        self._there: set[str] = set()
        self._pure: dict[str, CommandAnswer] = {}
        self._done: dict[str, Named] = {}
        """The commands of all turns by digest; one that was answered from memory did nothing new."""
        self._foreign: dict[str, bool] = {}

    # The turn

    def start_turn(self) -> None:
        """Forgets the answers of the turn before."""
        self.turn = TurnAnswers()
        # Names are found anew in each turn: what one finds must not depend on those before it, or
        # a reopened world would go on in another way.
        self.words, self._files, self._both = {}, set(), set()

    def start_run(self) -> None:
        """The turn is computed from its beginning."""
        self.turn.seen.clear()
        self.turn.used.clear()
        self.said.clear()
        self._missed = set()

    def remember(self, turns: Iterable[Turn]) -> None:
        """Takes over the commands of earlier turns, and their answers that changed nothing."""
        for turn in turns:
            for inner in turn.inner:
                digest = inner.answer.get("digest")
                if isinstance(digest, str):
                    self._done.setdefault(digest, (inner.argv, inner.stdin_hash))
                    answer = CommandAnswer.from_json(inner.answer)
                    self._keep(digest, answer)

    def give(self, unanswered: UnansweredQuestion, answer: CommandAnswer) -> None:
        """Puts an answer where the next run finds it."""
        self.turn.given[unanswered.key] = (answer, unanswered.question.digest)
        self.turn.asked.append((unanswered.question.argv, answer))
        self._keep(unanswered.question.digest, answer)

    def end_turn(self) -> None:
        """The turn has been computed to its end."""
        self._done = self._done_so_far()

    def _keep(self, digest: str, answer: CommandAnswer) -> None:
        if not answer.operations:
            self._pure.setdefault(digest, answer)

    def learn(self, stale: StaleNames) -> None:
        """Takes names as what they turned out to be."""
        self._both |= stale.commands & self._files
        self.words.update(dict.fromkeys(sorted(stale.commands)))
        for name in stale.files:
            self.words.pop(name, None)
        self._files |= stale.files

    # Names

    def prepare(
        self,
        script: str,
        session: ShellSession,
        *,
        cwd: str,
        path: str,
        analyze: Callable[[str], ScriptAnalysis],
        files: LiveFiles,
    ) -> bool:
        """Finds the names in a script that may be unknown commands, and adds them to `words`. What the shell
        keeps counts too: functions and aliases may call commands.

        Returns:
            Whether the shell must know `words` and no others: the script may ask for names.
        """
        analysis = None
        with suppress(BashError):
            analysis = analyze(script)
        kept = texts_kept_by(session)
        env = {"PATH": kept.path or path}
        names = None if analysis is None else script_analysis.plain_names(analysis)
        if names is not None and (kept.always or names & kept.functions.keys()):
            names = None
        folders = [cwd]
        exact = names is None
        if names is None:
            # A shell inside the script is asked without our help: what is looked up there is left
            # out until it is called.
            nested = script_analysis.starts_shells(analysis)
            hidden = script_analysis.lookups(script) if nested else set[str]()
            texts = [script, *kept.always, *kept.functions.values(), *kept.values]
            found = [word for text in texts for word in script_analysis.candidates(text)]
            if analysis is not None:
                found = [*analysis.command_names, *found]
            folders = script_analysis.folders_of(script, cwd)
            names = [word for word in dict.fromkeys(found) if word not in hidden]
            names += [word for word in sorted(hidden) if in_path(word, env, cwd, files)]
            names += self._programs(folders, files)
        new = [
            name
            for name in dict.fromkeys(names)
            if name not in self.words
            and not self.names.is_known(name)
            and self._is_unknown(name, folders, env, files)
        ]
        self.words.update(dict.fromkeys(new[: script_analysis.MOST_WORDS]))
        self._there = {name for name in self.words if in_path(name, env, cwd, files)}
        return exact

    def absent_in(self, script: str) -> frozenset[str]:
        """Names in `script` that are not there for those who ask (`command -v`)."""
        words = set(script_analysis.WORD.findall(script))
        learned = self.words.keys() - self.names.programs - self._there
        return frozenset(self.names.absent | (learned & words))

    def note(self, text: str) -> None:
        """Notes names of which the shell said that they are no commands."""
        if "not found" in text or "No such file" in text:
            for name in script_analysis.not_found(text):
                if self._can_be_learned(name):
                    self._missed.add(name)

    def settle(self) -> None:
        """Raises `StaleNames` when names were noted."""
        if self._missed:
            raise StaleNames(commands=self._missed)

    def _can_be_learned(self, name: str) -> bool:
        if name in self.words:
            return False
        if "/" in name:
            return name.startswith("/") and name.rpartition("/")[0] in PROGRAM_FOLDERS
        return not self.names.is_known(name) and self.names.routes.of(name) != "compute"

    def _is_unknown(
        self, name: str, folders: list[str], env: Mapping[str, str], files: LiveFiles
    ) -> bool:
        if name in self._files:
            return False
        if "/" not in name:
            if self.names.is_known(name):
                return False
            program = in_path(name, env, folders[0], files)
            # The script may make one that the shell cannot run: `pip install -e . && app`.
            return program is None or self.names.is_foreign(program)
        if name.startswith(("/dev/", "/proc/", "/sys/")):
            return False
        paths = [name] if name.startswith("/") else [f"{folder}/{name}" for folder in folders]
        programs = [program_at(normal_path(path), files) for path in paths]
        if any(program and self.names.is_foreign(program) for program in programs):
            return True
        return not any(files.exists(normal_path(path)) for path in paths)

    def _programs(self, folders: list[str], files: LiveFiles) -> Iterable[str]:
        """How the world's own programs that the shell cannot run may be called."""
        for path, entry in files.tree.items():
            content = entry.content
            if entry.kind != "file" or not entry.mode & 0o111:
                continue
            if content not in self._foreign:
                program = program_at(path, files)
                self._foreign[content] = bool(program and self.names.is_foreign(program))
            if self._foreign[content]:
                yield from names_of(path, folders)

    # Answers

    def answer(
        self, call: CommandCall, files: LiveFiles, *, script: str, suspicious: bool
    ) -> CommandResult:
        """Answers a command, or stops the turn until somebody has.

        Raises:
            AccessRefused: its route is `refuse`.
            UnansweredQuestion: somebody has to be asked.
            StaleNames: it is no unknown command.
        """
        argv = self._argv(call, files)
        if isinstance(argv, CommandResult):
            return argv
        self._require_allowed(argv[0], script)
        named = (argv, stdin_hash(call.stdin))
        key = (*named, self.turn.seen[named])
        self.turn.seen[named] += 1
        if key not in self.turn.given:
            contents = MemoryBlobs()
            pending = files.pending(suspicious=suspicious, blobs=contents)
            tree = files.tree.with_changes(pending)
            digest = digest_of(argv, call, content_sum(tree, 0o7777), self._others(named))
            if digest not in self._pure:
                question = question_of(
                    argv,
                    call,
                    files,
                    script=script,
                    digest=digest,
                    tree=tree,
                    contents=contents,
                    validate=partial(_problem, partial(self._steps, tree, call.cwd)),
                )
                raise UnansweredQuestion(key, question)
            self.turn.given[key] = (self._pure[digest], digest)
        self.turn.used.append(key)
        answer, _ = self.turn.given[key]
        self.said.update(f"{answer.stdout}\n{answer.stderr}".split("\n"))
        if answer.operations:
            tree = files.tree.with_changes(files.pending(suspicious=suspicious))
            try:
                carry_out(self._steps(tree, call.cwd, answer), files)
            except (Impossible, OSError) as problem:
                raise EngineFailure(
                    f"The answer to the command {' '.join(argv)!r} cannot be carried out: {problem}"
                ) from None
        return CommandResult(answer.stdout, answer.stderr, answer.exit_code)

    def _steps(self, tree: FileTree, cwd: str, answer: CommandAnswer) -> tuple[Step, ...]:
        steps = plan_of(answer, Plan(tree, cwd=cwd, limits=self._limits))
        # No text makes the objects and the index that the machine's git reads.
        for place in (place for step in steps for place in (step.place, step.target)):
            if _REPOSITORY.search(place) and self.names.is_computed("git"):
                raise Impossible(
                    f"{place} is a part of a git repository, which only the machine's own git changes: leave the"
                    " operation out, and say of the repository what stays true"
                )
        return steps

    def _others(self, named: Named) -> list[Named]:
        """The commands before this one that may have changed what no file tells."""
        done = self._done_so_far().values()
        return [one for one in done if one != named and not only_looks(one[0])]

    def _done_so_far(self) -> dict[str, Named]:
        done = dict(self._done)
        for argv, stdin, n in self.turn.used:
            done.setdefault(self.turn.given[argv, stdin, n][1], (argv, stdin))
        return done

    def _argv(self, call: CommandCall, files: LiveFiles) -> tuple[str, ...] | CommandResult:
        """The words to answer; or what the shell says of a program that it may not imagine."""
        name = call.name
        if name == HELPER:
            return tuple(call.argv[1:])
        if "/" in name:
            path = name if name.startswith("/") else normal_path(f"{call.cwd}/{name}")
            program = program_at(path, files)
            if program is None and (files.exists(path) or not _is_in_program_folder(name, call)):
                raise StaleNames(files=[name])
        elif self.names.is_known(name):
            program = None
        else:
            program = in_path(name, call.env, call.cwd, files)
        if program is None:
            if "/" not in name and self.names.routes.of(name) == "compute":
                raise StaleNames(files=[name])
            return (name, *call.argv)
        if not self.names.is_foreign(program):
            if name not in self._both:
                raise StaleNames(files=[name])
            return call.native(program=program.path)
        words = program.interpreter or ()
        if words and self.names.is_computed(words[0]):
            path = name if "/" in name else program.path
            # One of a virtual environment is called by its own path.
            given = program.line.rpartition("/")[0] not in ("/bin", "/usr/bin")
            interpreter = program.line if given and program.line else words[0]
            return call.native([*words[1:], path, *call.argv], program=interpreter)
        if words and (words[0].endswith("\r") or self.names.routes.of(words[0]) == "compute"):
            return _no_interpreter(name, program)
        return (*words, name if "/" in name else program.path, *call.argv)

    def _require_allowed(self, name: str, script: str) -> None:
        bare = name.rpartition("/")[2]
        if self.names.routes.of(bare) == "refuse":
            raise AccessRefused(
                f"the command {bare!r} may not be answered: the route of"
                f" {self.names.routes.setting(bare)!r} is 'refuse' (`routes` of the shell engine,"
                f" `routes.commands` of a scenario). It stands in the script {script[:300]!r}."
            )


def _problem(
    steps: Callable[[CommandAnswer], tuple[Step, ...]], answer: CommandAnswer
) -> str | None:
    try:
        steps(answer)
    except Impossible as problem:
        return str(problem)
    return None


def _is_in_program_folder(name: str, call: CommandCall) -> bool:
    folder = name.rpartition("/")[0]
    return name.startswith("/") and (
        folder in PROGRAM_FOLDERS or folder in call.env.get("PATH", "").split(":")
    )


def _no_interpreter(name: str, program: Program) -> CommandResult:
    """What bash 5.2 says of a script whose interpreter is not installed."""
    wanted = (program.interpreter or ("",))[0]
    message = f"bash: line 1: {name}: cannot execute: required file not found\n"
    if program.line.endswith("/env"):
        shown = wanted.replace("\r", "\\r")
        message = f"{program.line}: \u2018{shown}\u2019: No such file or directory\n"
        if shown != wanted:
            message += f"{program.line}: use -[v]S to pass options in shebang lines\n"
    return CommandResult("", message, 127)
