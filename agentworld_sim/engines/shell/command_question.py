"""The question of a command that the shell does not have, in the middle of a turn."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, cast

from agentworld_sim.checks import praise, pretence
from agentworld_sim.domains.text import fence
from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.commands import COMMANDS, programs_of
from agentworld_sim.engines.shell.file_operations import CommandAnswer, Validate
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.programs import DATA
from agentworld_sim.errors import EngineFailure
from agentworld_sim.ports import ImaginedValue, Part, Prompt, QuestionKey, StepContext
from agentworld_sim.redaction.environment import secrets_of, shown_environment
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.files import FileTree, MemoryBlobs, blob_id, content_sum, normal_path
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.turns import Action, Turn

ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "exit_code": {"type": "integer", "minimum": 0, "maximum": 255},
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["write", "append", "delete", "move", "chmod", "mkdir"]},
                    "path": {"type": "string", "minLength": 1},
                    "content": {"type": "string"},
                    "target": {"type": "string"},
                    "mode": {"type": "integer", "minimum": 0, "maximum": 4095},
                },
                "required": ["kind", "path"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["stdout", "stderr", "exit_code", "operations"],
    "additionalProperties": False,
}
"""What the model answers about one command."""

_OPTIONAL: Mapping[str, Any] = {"stdout": "", "stderr": "", "exit_code": 0, "operations": []}
"""What is meant by leaving a key out, for a server that cannot enforce the schema."""


@dataclass(frozen=True, kw_only=True)
class CommandQuestion:
    """Implements `Question`: one invocation of a command, with all that its answer may depend on."""

    argv: tuple[str, ...]
    """The name and its arguments, expanded by the shell."""
    stdin: str | None
    """What the pipe or redirection delivers; `None` when nothing is connected. A long input is cut
    and says so; bytes that are no UTF-8 have become U+FFFD on their way through the pipe."""
    cwd: str
    env: Mapping[str, str]
    """The exported variables."""
    user: str
    hostname: str
    clock_us: int
    """The world's time, microseconds since the epoch."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text by absolute path: files that the arguments name, and those in the working directory that
    such a command reads without being told (`package.json`). Long ones are cut and say so."""
    listing: tuple[str, ...] = ()
    """What is in the working directory, as lines of `ls -lA`."""
    repository: str = ""
    """What the machine's git says of the repository there, for a command that looks into one."""
    script: str = ""
    """The script it stands in."""
    digest: str = ""
    """Hash of everything the answer may depend on: the above without clock and script, all files,
    and the other commands imagined before that may have changed what no file tells."""
    files_sum: int = 0
    """Hash of all files: `content_sum`."""
    tree: FileTree = field(default_factory=lambda: FileTree({}), repr=False)
    """All files where it is asked."""
    contents: MemoryBlobs = field(default_factory=MemoryBlobs, repr=False)
    """What of them was written in the same turn."""
    validate: Validate
    """Says whether an answer can be carried out."""
    earlier: tuple[tuple[tuple[str, ...], CommandAnswer], ...] = ()
    """The commands of the same turn that were answered before it, in order."""
    history: tuple[Turn, ...] = ()
    """The turns before."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the session; see `Prompt.memory`."""

    schema = ANSWER_SCHEMA
    streams = False

    @property
    def about(self) -> str:
        return _command_line(self.argv)

    @property
    def key(self) -> QuestionKey:
        about: dict[str, Any] = {"argv": self.argv, "cwd": self.cwd}
        if self.stdin is not None:
            about["stdin"] = self.stdin
        return QuestionKey(
            kind="command",
            name=self.argv[0],
            about=about,
            env=(self.user, self.hostname, self.env),
            files_sum=self.files_sum,
            earlier=tuple(argv for argv, _ in self.earlier),
        )

    def prompt(self) -> Prompt:
        """A conversation of all commands that were imagined in this world, so that `git log` knows what
        `git commit` said; what other calls did stands between them."""
        return Prompt(
            subject="command",
            parts=self._parts,
            secrets=secrets_of(self.env),
            memory=self.memory,
        )

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        between: list[Turn] = []

        def add(action: str, answer: str | None) -> None:
            parts.append(Part(len(parts) + 1, Action(action), answer, tuple(between)))
            between.clear()

        for turn in self.history:
            for inner in turn.inner:
                add(_command_line(inner.argv), _answer_text(inner.answer))
            between.append(turn)
        for argv, answered in self.earlier:
            add(_command_line(argv), _answer_text(answered.to_json()))
        add(_description(self), None)
        return tuple(parts)

    def read(self, text: str) -> CommandAnswer:
        answer = read_answer(text)
        said = f"{answer.stdout}\n{answer.stderr}"
        known = self._text_before
        for reason in (pretence(said, known), praise(said, known), self.validate(answer)):
            if reason:
                raise ValueError(reason)
        return answer

    def _text_before(self) -> str:
        """What stood in the world before, and may therefore be said again."""
        return "\n".join(
            text for one in self._parts for text in (one.action.text, one.answer or "")
        )

    async def judge(self, imagined: ImaginedValue[CommandAnswer], context: StepContext) -> None:
        """Nothing: checks judge what the shell makes of all its commands."""

    def dump(self, value: CommandAnswer) -> Mapping[str, Any]:
        return {key: one for key, one in value.to_json().items() if one or key == "stdout"}

    def load(self, answer: Mapping[str, Any]) -> CommandAnswer:
        return CommandAnswer.from_json({"stdout": "", "stderr": "", "exit_code": 0, **answer})


def read_answer(text: str) -> CommandAnswer:
    """The answer that a model wrote.

    Raises:
        ValueError: it is no such JSON object; the text says why.
    """
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"the answer must be one JSON object with the keys {', '.join(_OPTIONAL)}, and it is"
            f" not JSON ({error})."
        ) from None
    if not isinstance(value, dict):
        raise ValueError("the answer must be one JSON object, not another JSON value.")  # noqa: TRY004 -- it is the text that is wrong
    whole: dict[str, Any] = {**_OPTIONAL, **cast("dict[str, Any]", value)}
    problem = schema_problem(ANSWER_SCHEMA, whole)
    if problem:
        raise ValueError(f"the answer is not of the form asked for: {problem}")
    return CommandAnswer.from_json(whole)


def _description(question: CommandQuestion) -> str:
    """A command and all that its program could see."""
    now = datetime.fromtimestamp(question.clock_us // 1_000_000, UTC)
    lines = [
        _command_line(question.argv),
        "",
        f"argv: {canonical_json(list(question.argv))}",
        f"working directory: {question.cwd}",
        f"user: {question.user} on {question.hostname}; time: {now:%Y-%m-%d %H:%M:%S} UTC",
        f"environment: {canonical_json(shown_environment(question.env))}",
    ]
    if question.script:
        lines += ["", "script it stands in:", fence(question.script)]
    lines += ["", "ls -lA of the working directory:", *(question.listing or ("(empty)",))]
    for path, text in question.files.items():
        lines += ["", f"file {path}:", fence(text)]
    if question.repository:
        lines += ["", "git status and git log, which go on from what the repository holds now:"]
        lines.append(fence(question.repository))
    if question.stdin is not None:
        lines += ["", "standard input:", fence(question.stdin)]
    return "\n".join(lines)


def _command_line(argv: Sequence[str]) -> str:
    return f"$ {shlex.join(argv)}"


def _answer_text(answer: Mapping[str, Any]) -> str:
    kept = {key: answer[key] for key in _OPTIONAL if key in answer}
    return json.dumps(kept, ensure_ascii=False)


MOST_STDIN = 200_000
"""Characters of standard input that are shown."""

MOST_FILE = 50_000
"""Characters of one file that are shown."""

MOST_FILES = 200_000
"""Characters of all files together that are shown."""

MOST_COMMITS = 30
"""Commits that are shown to a command that looks into a repository."""

MOST_LISTED = 500
"""Lines of the listing."""

_MANIFESTS = (DATA / "manifests.txt").read_text("utf-8")

MANIFESTS: Mapping[str, Sequence[str]] = {
    name: names.split()
    for names, _, programs in (line.partition(":") for line in _MANIFESTS.splitlines()[1:])
    for name in programs.split()
}
"""Files in the working directory that a command reads without being told to."""


def stdin_hash(stdin: str | None) -> str:
    """Names an input; empty when nothing is connected."""
    return "" if stdin is None else blob_id(stdin.encode("utf-8", "surrogatepass"))


def question_of(
    argv: tuple[str, ...],
    call: CommandCall,
    files: LiveFiles,
    *,
    script: str,
    digest: str,
    tree: FileTree,
    contents: MemoryBlobs,
    validate: Validate,
) -> CommandQuestion:
    """All that an imaginer is told."""
    stdin = call.stdin
    return CommandQuestion(
        argv=argv,
        stdin=None if stdin is None else cut(stdin, MOST_STDIN),
        cwd=call.cwd,
        env=dict(sorted(call.env.items())),
        user=call.machine.user,
        hostname=call.machine.hostname,
        clock_us=call.clock.now_us(),
        files=_texts(argv, call.cwd, files),
        listing=_listing(call),
        repository=_repository(argv, call),
        script=script,
        digest=digest,
        files_sum=content_sum(tree),
        tree=tree,
        contents=contents,
        validate=validate,
    )


def digest_of(
    argv: tuple[str, ...],
    call: CommandCall,
    files_sum: int,
    others: Sequence[tuple[tuple[str, ...], str]],
) -> str:
    """Hash of all that an answer may depend on, with the commands before it that may have changed what no
    file tells. Times are left out: they differ at every call."""
    about = (call.cwd, sorted(call.env.items()), call.machine.user, call.machine.hostname)
    text = json.dumps([argv, stdin_hash(call.stdin), *about, str(files_sum), others])
    return blob_id(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=32)
def machine_sum(machine: Machine) -> int:
    """`content_sum` of a freshly installed machine."""
    return content_sum(dict(base_tree(machine, 0, MemoryBlobs())))


def cut(text: str, most: int) -> str:
    """`text`, its middle left out when it is longer than `most` characters."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    left_out = f"\n[… {len(text) - head - tail:,} characters left out …]\n"
    return text[:head] + left_out + text[-tail:]


def _texts(argv: tuple[str, ...], cwd: str, files: LiveFiles) -> Mapping[str, str]:
    name = argv[0].rpartition("/")[2]
    words = [*argv, *MANIFESTS.get(name, ())]
    found: dict[str, str] = {}
    left = MOST_FILES
    for word in words:
        value = word.rpartition("=")[2].removeprefix("@")
        if not value or "\0" in value or len(value) > 4_095:
            continue
        path = normal_path(value if value.startswith("/") else f"{cwd}/{value}")
        if path in found or left <= 0:
            continue
        text = _text_at(path, files)
        if text is not None:
            found[path] = cut(text, min(MOST_FILE, left))
            left -= len(found[path])
    return found


def _text_at(path: str, files: LiveFiles) -> str | None:
    """The text of a file; `None` where there is none, or where a program of the system lies."""
    try:
        if path.startswith(("/usr/bin/", "/dev/")) or files.stat(path).kind != "file":
            return None
        data = files.read(path)
    except OSError:
        return None
    if b"\0" in data[:1_024]:
        return f"[binary, {len(data):,} bytes]"
    return data.decode("utf-8", "replace")


def _repository(argv: tuple[str, ...], call: CommandCall) -> str:
    git = programs_of(call.machine).get("git")
    if git is None or ".git/HEAD" not in MANIFESTS.get(argv[0], ()):
        return ""
    text = ""
    for words in ("status -sb", f"log --all --oneline --decorate -{MOST_COMMITS}"):
        with suppress(EngineFailure):
            text += git(replace(call, name="git", argv=words.split(), stdin=None)).stdout
    return text


def _listing(call: CommandCall) -> tuple[str, ...]:
    shown = COMMANDS["ls"](replace(call, name="ls", argv=("-lA",), stdin=None))
    lines = shown.stdout.splitlines()
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"[… {len(lines) - MOST_LISTED:,} more …]"]
    return tuple(lines)
