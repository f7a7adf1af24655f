"""`CommandModel`: imagines the commands that a shell does not have, in the middle of a turn."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.checks import praise, pretence
from agentworld_sim.domains import Domain, domain
from agentworld_sim.engines.shell._imagined import (
    CommandAnswer,
    CommandQuestion,
    ImaginedCommand,
    Validate,
)
from agentworld_sim.imagination.ask_loop import Interview, known_messages, spent_before
from agentworld_sim.imagination.briefing import Briefing
from agentworld_sim.imagination.conversation import Conversation, Part, fenced
from agentworld_sim.imagination.prompt_markers import harmless
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.ports import TurnContext
from agentworld_sim.redaction.environment import secrets_of, shown_environment
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.turns import Action, Turn

if TYPE_CHECKING:
    from agentworld_sim.imagination.world_model import WorldModel

OPERATION_KINDS = ("write", "append", "delete", "move", "chmod", "mkdir")

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
                    "kind": {"enum": list(OPERATION_KINDS)},
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


class CommandModel:
    """Implements `CommandImaginer` with a language world model.

    The prompt is a conversation of all commands that were imagined in this world, so that `git log`
    knows what `git commit` said; what other calls did stands between them.
    """

    def __init__(self, model: WorldModel, briefing: Briefing | None = None) -> None:
        self._model = model
        self._briefing = briefing or Briefing()

    async def answer(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        context: TurnContext,
        validate: Validate,
    ) -> ImaginedCommand:
        history = await context.history()
        interview = Interview(
            model=self._model,
            question=_CommandQuestion(
                question,
                validate,
                self._conversation(question, earlier, history, context.instruction),
            ),
            blobs=context.blobs,
            seed=context.seed,
            known=known_messages(history),
            spent=lambda: spent_before(context),
        )
        return ImaginedCommand(await interview.usable(), tuple(interview.exchanges))

    def _conversation(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        history: Sequence[Turn],
        instruction: str,
    ) -> Conversation:
        parts: list[Part] = []
        between: list[Turn] = []

        def add(action: str, answer: str | None) -> None:
            parts.append(Part(len(parts) + 1, Action(action), answer, tuple(between)))
            between.clear()

        for turn in history:
            for inner in turn.inner:
                add(_typed(inner.argv), _written(inner.answer))
            between.append(turn)
        for other, answered in earlier:
            add(_typed(other.argv), _written(answered.to_json()))
        add(described(question), None)
        system = self._model.prompts.command()
        instruction = "\n".join(filter(None, (self._briefing.instruction, instruction)))
        if instruction:
            system += f"\n\n# Simulation instruction\n\n{harmless(instruction)}"
        return Conversation(
            domain=_FORM,
            system=system,
            parts=tuple(parts),
            secrets=self._briefing.secrets | secrets_of(question.env),
        )


@dataclass(frozen=True, slots=True)
class _CommandQuestion:
    """Implements `Question`: what does this command do?"""

    command: CommandQuestion
    validate: Validate
    conversation: Conversation
    schema: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", ANSWER_SCHEMA)

    @property
    def about(self) -> str:
        return _typed(self.command.argv)

    def messages(self, *, budget_tokens: int, correction: str) -> tuple[ChatMessage, ...]:
        return self.conversation.messages(budget_tokens=budget_tokens, correction=correction)

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
        parts = self.conversation.parts
        return "\n".join(text for one in parts for text in (one.action.text, one.answer or ""))


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


def described(question: CommandQuestion) -> str:
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


_TERMINAL = domain("terminal")
_FORM = Domain(name="terminal", action=_TERMINAL.action, write=_TERMINAL.write, read=_TERMINAL.read)
"""Commands are conversed about as the terminal's actions are, without fence and state."""
