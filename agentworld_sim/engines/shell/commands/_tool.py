"""What every tool written in Python here shares: its output, its complaints, its paths, quoted names."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Literal, Self

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult, Piece
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.live_files import FileStat, directory_place
from agentworld_sim.engines.shell.programs import PACKAGE_OF_COMMAND, version_text
from agentworld_sim.types.files import normal_path

_LETTER = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}
_FORCES = frozenset("\n\r\t\\ !\"$&()*;<=>[^`|'?")
"""Characters that make a name need quotes; `{}` alone and leading `#~` do so too."""
_COMPATIBLE = frozenset("%+,-./0123456789:]_@ '")
_CURLY = "\u2018\u2019"
_UNPRINTABLE = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})


def quote_for_shell(name: str, *, always: bool = False) -> str:
    """GNU's `shell-escape` style (`shell-escape-always` with `always`), as in messages.

    Source: gnulib's quotearg.c, `quotearg_buffer_restyled`; its slip is kept too: a name that ends in
    an escape and holds a single quote starts with an empty pair of quotes.
    """
    if not always and name and not any(_forces(name, i) for i in range(len(name))):
        return name
    text, pending, compatible = _pass(name, pending=False)
    if "'" in name:
        if compatible:
            return f'"{name}"'
        text, _, _ = _pass(name, pending=pending)
    return f"'{text}'"


def _forces(name: str, index: int) -> bool:
    char = name[index]
    if char in _FORCES or char == ":" or not _printable(char):
        return True
    return (char in "{}" and len(name) == 1) or (char in "#~" and index == 0)


def _pass(name: str, *, pending: bool) -> tuple[str, bool, bool]:
    out: list[str] = []
    all_compatible = True
    for index, char in enumerate(name):
        if char in _LETTER or not _printable(char):
            if not pending:
                out.append("'$'")
                pending = True
            out.append(_escape(char))
            all_compatible = False
            continue
        if char == "'":
            # Closing quote, escaped quote, opening quote: the last one also ends an escape.
            out.append("'\\'")
            pending = False
        if pending:
            out.append("''")
            pending = False
        out.append(char)
        all_compatible &= _compatible(name, index)
    return "".join(out), pending, all_compatible


def _compatible(name: str, index: int) -> bool:
    char = name[index]
    if char.isalnum() or char in _COMPATIBLE or not char.isascii():
        return True
    return (char in "{}" and len(name) == 1) or (char in "#~" and index == 0)


def _printable(char: str) -> bool:
    return unicodedata.category(char) not in _UNPRINTABLE


def _escape(char: str) -> str:
    if char in _LETTER:
        return "\\" + _LETTER[char]
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def is_utf8(env: Mapping[str, str]) -> bool:
    """Whether messages use the curly quotes of a UTF-8 locale."""
    value = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "C"
    return "utf" in value.lower()


def quote_for_message(text: str, env: Mapping[str, str]) -> str:
    """GNU's `quote()`: curly quotes in a UTF-8 locale, 'text' in the C locale."""
    curly = is_utf8(env)
    shown = "".join(
        _escape(char)
        if char in _LETTER or not _printable(char)
        else "\\" + char
        if char == "\\" or (char in _CURLY and curly) or (char == "'" and not curly)
        else char
        for char in text
    )
    return _CURLY[0] + shown + _CURLY[1] if curly else f"'{shown}'"


def strerror(error: OSError) -> str:
    """The system's words for `error`."""
    return os.strerror(error.errno or errno.EIO)


class _Stream(list[str]):
    """One of a tool's two outputs. What is added to either keeps its order in a common log."""

    def __init__(self, name: Literal["out", "err"], log: list[Piece]) -> None:
        super().__init__()
        self._name: Literal["out", "err"] = name
        self._log = log

    def append(self, text: str, /) -> None:
        self.extend((text,))

    def extend(self, texts: Iterable[str], /) -> None:
        texts = tuple(texts)
        super().extend(texts)
        self._log.extend((self._name, text) for text in texts if text)

    def __iadd__(self, texts: Iterable[str], /) -> Self:
        self.extend(texts)
        return self


class Tool:
    """One running tool: collects what it prints."""

    def __init__(self, call: CommandCall) -> None:
        self.call = call
        self.name = call.name
        self.files = call.files
        self._log: list[Piece] = []
        self.out = _Stream("out", self._log)
        self.err = _Stream("err", self._log)
        self.code = 0
        self._answers: list[str] | None = None

    def say(self, line: str) -> None:
        self.out.append(line + "\n")

    def complain(self, text: str, code: int = 1) -> None:
        """A message on standard error that makes the exit code at least `code`."""
        self.err.append(f"{self.name}: {text}\n")
        self.code = max(self.code, code)

    def add(self, result: CommandResult, *, curly: str = "") -> None:
        """Takes over what another command answered. Messages that begin like `curly` after the tool's name get the
        quotes of GNU's `quote`."""
        self.out.append(result.stdout)
        self.err.append(self.requote(result.stderr, curly) if curly else result.stderr)
        self.code = max(self.code, result.exit_code)

    def requote(self, said: str, messages: str) -> str:
        """What the embedded shell said, with curly quotes in messages that begin like `messages`."""
        return re.sub(
            rf"(?m)^{re.escape(self.name)}: (?:{messages}).*",
            lambda line: re.sub(r"'([^']*)'", lambda found: self.quote(found[1]), line[0]),
            said,
        )

    def result(self) -> CommandResult:
        return CommandResult("".join(self.out), "".join(self.err), self.code, tuple(self._log))

    def path(self, operand: str) -> str:
        """An operand as an absolute path.

        Raises:
            FileNotFoundError: the operand is empty.
        """
        if not operand:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), operand)
        return operand if operand.startswith("/") else f"{self.call.cwd.rstrip('/')}/{operand}"

    def place(self, operand: str) -> str:
        """The absolute path of the operand itself: links in its parents followed, not its own.

        Raises:
            OSError: a parent is missing.
        """
        parent, _, name = normal_path(self.path(operand)).rpartition("/")
        return join_path(self.files.realpath(parent or "/"), name)

    def lstat(self, operand: str) -> FileStat:
        """`lstat` of an operand; a slash at its end means the directory behind a link."""
        found = self.files.lstat(self.path(operand))
        if operand.endswith("/") and operand.strip("/"):
            found = self.files.stat(self.path(operand))
            if found.kind != "directory":
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), operand)
        return found

    def stat(self, operand: str) -> FileStat:
        self.lstat(operand)
        return self.files.stat(self.path(operand))

    def is_directory(self, operand: str) -> bool:
        try:
            return self.stat(operand).kind == "directory"
        except OSError:
            return False

    def exists(self, operand: str) -> bool:
        """Whether there is anything of this name, a broken link included."""
        try:
            self.lstat(operand)
        except OSError:
            return False
        return True

    def text(self, operand: str) -> str:
        """What a text file holds."""
        return self.files.read(self.path(operand)).decode("utf-8", "replace")

    def reference(self, operand: str) -> FileStat:
        """What `--reference=operand` names.

        Raises:
            UsageError: there is no such file.
        """
        try:
            return self.stat(operand)
        except OSError as error:
            said = f"failed to get attributes of {self.name_of(operand)}: {strerror(error)}"
            raise UsageError(f"{self.name}: {said}\n") from None

    def no_folder(self, operand: str, what: str) -> UsageError:
        """The refusal of a target that should be a directory."""
        try:
            self.stat(operand)
            reason = os.strerror(errno.ENOTDIR)
        except OSError as error:
            reason = strerror(error)
        return UsageError(f"{self.name}: {what} {self.name_of(operand)}: {reason}\n")

    def bad_argument(
        self, given: str, option: str, choices: Iterable[str], code: int = 1
    ) -> UsageError:
        """The refusal of an option's argument that is none of `choices`, as gnulib's argmatch words it."""
        listed = "".join(f"  - {choice}\n" for choice in choices)
        return UsageError(
            f"{self.name}: invalid argument {self.quote(given)} for {self.quote(option)}\n"
            f"Valid arguments are:\n{listed}Try '{self.name} --help' for more information.\n",
            code,
        )

    def in_tree_order(
        self, names: Iterable[str], roots: Sequence[str], *, depth_first: bool = False
    ) -> list[str]:
        """`names`, which were found below `roots`, as a walk through the directories comes to them."""
        tops = [self.path(root).rstrip("/") + "/" for root in roots]
        places: dict[str, tuple[str, ...]] = {"": ()}

        def place(path: str) -> tuple[str, ...]:
            if path not in places:
                places[path] = (*place(path.rpartition("/")[0]), directory_place(path))
            return places[path]

        def order(name: str) -> tuple[int, tuple[str, ...]]:
            path = self.path(name)
            root = next((n for n, top in enumerate(tops) if f"{path}/".startswith(top)), 0)
            # What comes last of a folder is the folder itself.
            return root, (*place(normal_path(path)), *("~" * depth_first))

        return sorted(names, key=order)

    @property
    def umask(self) -> int:
        """What `umask` says in the calling shell."""
        return self.files.mask.now

    def ask(self, question: str) -> bool:
        """A question that needs a yes. Standard input is read line by line; its end means no."""
        self.err.append(f"{self.name}: {question} ")
        if self._answers is None:
            self._answers = (self.call.stdin or "").splitlines()
        return bool(self._answers) and self._answers.pop(0)[:1] in ("y", "Y")

    def quote(self, text: str) -> str:
        """As GNU's `quote`: curly quotes in a UTF-8 locale."""
        return quote_for_message(text, self.call.env)

    def name_of(self, operand: str) -> str:
        """'operand', as GNU's `quoteaf`."""
        return quote_for_shell(operand, always=True)


def help_text(command: str) -> str:
    """What `command --help` prints, in short."""
    text = f"Usage: {command} [OPTION]...\n"
    package = PACKAGE_OF_COMMAND.get(command)
    if package is not None and package.name == "coreutils":
        text += (
            "\n      --help        display this help and exit\n"
            "      --version     output version information and exit\n"
            "\nGNU coreutils online help: <https://www.gnu.org/software/coreutils/>\n"
        )
    return text


def with_help(command: Command) -> Command:
    """Lets `command` answer a lone `--version` or `--help`."""

    @wraps(command)
    def answer_help(call: CommandCall) -> CommandResult:
        if len(call.argv) == 1 and call.argv[0] in ("--version", "--help"):
            name = call.name.rpartition("/")[2]
            text = version_text(name) if call.argv[0] == "--version" else help_text(name)
            if text:
                return CommandResult(text)
        return command(call)

    return answer_help


def tool(function: Callable[[Tool], None]) -> Command:
    """Makes a `Command` of a function that fills a `Tool`; a refused command line ends it."""

    @wraps(function)
    def command(call: CommandCall) -> CommandResult:
        running = Tool(call)
        try:
            function(running)
        except OSError as error:
            # What no tool expects of a file system, a loop of links for example.
            running.complain(f"{error.filename}: {strerror(error)}")
        except UsageError as refused:
            running.err.append(refused.result.stderr)
            running.code = refused.result.exit_code
        return running.result()

    return with_help(command)


def join_path(folder: str, name: str) -> str:
    """`folder/name` as tools print it: no second slash after one at the end."""
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def base_name(operand: str) -> str:
    """The last part of an operand, slashes at its end left out; `/` for the root."""
    stripped = operand.rstrip("/")
    return stripped.rpartition("/")[2] if stripped else operand[:1]
