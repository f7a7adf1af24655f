"""The question of a command that the shell does not have, in the middle of a turn."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast

from agentworld_sim.checks import praise, pretence
from agentworld_sim.domains.text import fenced
from agentworld_sim.engines.shell._imagined import CommandAnswer, Validate
from agentworld_sim.ports import Imagined, Part, Prompt, QuestionKey, TurnContext
from agentworld_sim.redaction.environment import secrets_of, shown_environment
from agentworld_sim.schema.validate import schema_problem
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
    script: str = ""
    """The script it stands in."""
    digest: str = ""
    """Hash of everything the answer may depend on: the above without clock and script, all files,
    and the other commands imagined before that may have changed what no file tells."""
    files_sum: int = 0
    """Hash of all files: `content_sum`."""
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
        return _typed(self.argv)

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
                add(_typed(inner.argv), _written(inner.answer))
            between.append(turn)
        for argv, answered in self.earlier:
            add(_typed(argv), _written(answered.to_json()))
        add(_described(self), None)
        return tuple(parts)

    def read(self, text: str) -> CommandAnswer:
        answer = read_answer(text)
        said = f"{answer.stdout}\n{answer.stderr}"
        known = self._known
        for reason in (pretence(said, known), praise(said, known), self.validate(answer)):
            if reason:
                raise ValueError(reason)
        return answer

    def _known(self) -> str:
        """What stood in the world before, and may therefore be said again."""
        return "\n".join(
            text for one in self._parts for text in (one.action.text, one.answer or "")
        )

    async def judge(self, imagined: Imagined[CommandAnswer], context: TurnContext) -> None:
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


def _described(question: CommandQuestion) -> str:
    """A command and all that its program could see."""
    now = datetime.fromtimestamp(question.clock_us // 1_000_000, UTC)
    lines = [
        _typed(question.argv),
        "",
        f"argv: {canonical_json(list(question.argv))}",
        f"working directory: {question.cwd}",
        f"user: {question.user} on {question.hostname}; time: {now:%Y-%m-%d %H:%M:%S} UTC",
        f"environment: {canonical_json(shown_environment(question.env))}",
    ]
    if question.script:
        lines += ["", "script it stands in:", fenced(question.script)]
    lines += ["", "ls -lA of the working directory:", *(question.listing or ("(empty)",))]
    for path, text in question.files.items():
        lines += ["", f"file {path}:", fenced(text)]
    if question.stdin is not None:
        lines += ["", "standard input:", fenced(question.stdin)]
    return "\n".join(lines)


def _typed(argv: Sequence[str]) -> str:
    return f"$ {shlex.join(argv)}"


def _written(answer: Mapping[str, Any]) -> str:
    kept = {key: answer[key] for key in _OPTIONAL if key in answer}
    return json.dumps(kept, ensure_ascii=False)
