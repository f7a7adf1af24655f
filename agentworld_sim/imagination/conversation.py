"""From a world's turns to the messages the model reads.

The form is that of Qwen-AgentWorld (its repository, `eval/`): user messages are actions, assistant
messages are observations, oldest first, and nothing but the end ever changes, so that the server's
prefix cache holds. Turns of other domains stand in no conversation; what they changed is told once, as
**Current State**, before the turn that follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentworld_sim.domains import Domain, domain
from agentworld_sim.domains.text import fence
from agentworld_sim.imagination.prompt_set import COMMAND, TAG, PromptSet, escape_markers
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.plain_text import shorten
from agentworld_sim.ports import Part, Prompt, PromptContext, PromptExample
from agentworld_sim.redaction.environment import mask_secrets
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Turn

MARKER = "**Environment Observation:**"
"""What stands before an observation in the history."""

BYTES_PER_TOKEN = 3
"""Estimate from below for text, code and JSON in UTF-8: prompts are cut too early rather than late."""

MESSAGE_TOKENS = 8
"""What a chat template adds to a message, at most."""

KEEP_AFTER_CUT = 0.5
"""Share of the budget that a cut leaves. Cutting much and seldom keeps the prefix equal in between."""

DIGEST_SHARE = 0.1
"""Share of the budget that the digest of turns left out may take."""

RECORDS_SHARE = 0.5
"""Of what the system message leaves, for the records: those that matter most stand first."""

DIGEST_LINES = 40
DIGEST_WIDTH = 160


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A part as it stands in prompts."""

    part: Part
    previous: str | None
    """The answer before it, which some domains tell again."""
    asked: str
    said: str | None
    size: int
    """Tokens of both messages, by estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a prompt is made of."""

    domain: Domain
    system: str
    parts: tuple[Part, ...]
    """The last one is the turn that is asked about."""
    task: str = ""
    initial_state: str = ""
    records: str = ""
    """Records of the world that matter for the last turn; told with it, and never again."""
    examples: tuple[PromptExample, ...] = ()
    """Calls like the last one; told before it as turns of their own, and never again."""
    secrets: frozenset[str] = frozenset()
    """Texts that must not be told."""
    memory: dict[int, WrittenPart] = field(default_factory=dict[int, WrittenPart])
    """What was written of an earlier state of the same conversation, by place; reused while it holds."""

    def messages(self, *, budget_tokens: int, correction: str = "") -> tuple[ChatMessage, ...]:
        """The messages, oldest first.

        Args:
            budget_tokens: Most tokens of the prompt, by estimate. Whole old turns are left out until
                it fits.
            correction: Why an earlier answer to this very turn was refused.
        """
        room = int((budget_tokens - tokens(self.system)) * RECORDS_SHARE)
        records = _head(self.records, room)
        examples = [message for one in self.examples for message in self._example(one)]
        beside = tokens(records) + sum(tokens(one.content) + MESSAGE_TOKENS for one in examples)
        budget_tokens = max(1, budget_tokens - beside)
        digest_tokens = int(budget_tokens * DIGEST_SHARE)
        first = self._first_kept(budget_tokens, digest_tokens)
        messages = [ChatMessage("system", self.system)]
        for place in range(first, len(self.parts)):
            written = self._write(place)
            digest = digest_tokens if place == first > 0 else 0
            if written.said is None:
                # Behind everything that stays as it is, for the server's prefix cache.
                messages += examples
                asked = escape_markers(self._user_message(place, digest, records))
                messages.append(ChatMessage("user", asked))
                continue
            asked = escape_markers(self._user_message(place, digest)) if digest else written.asked
            messages.append(ChatMessage("user", asked))
            messages.append(ChatMessage("assistant", written.said))
        if correction:
            last = messages[-1]
            messages[-1] = ChatMessage("user", f"{last.content}\n\n{correction_text(correction)}")
        if self.secrets:
            return tuple(
                ChatMessage(one.role, mask_secrets(one.content, self.secrets)) for one in messages
            )
        return tuple(messages)

    def _write(self, place: int) -> WrittenPart:
        part = self.parts[place]
        previous = self.parts[place - 1].answer if place else None
        held = self.memory.get(place)
        if held is not None and held.part == part and held.previous == previous:
            return held
        asked = escape_markers(self._user_message(place))
        said = None if part.answer is None else f"{MARKER}\n{escape_markers(part.answer)}"
        size = tokens(asked) + MESSAGE_TOKENS
        size += 0 if said is None else tokens(said) + MESSAGE_TOKENS
        written = self.memory[place] = WrittenPart(part, previous, asked, said, size)
        return written

    def _example(self, example: PromptExample) -> tuple[ChatMessage, ChatMessage]:
        """A call of another session as two messages: smaller models go on with a conversation, and lose an example
        that stands inside of a message."""
        sections = ["### Similar Call of Another Session"]
        if example.records:
            sections.append(_records_section(example.records))
        sections.append(self._action_section(example.call))
        reply = f"<{TAG}>\n{escape_markers(example.reply)}\n</{TAG}>"
        return (
            ChatMessage("user", escape_markers("\n".join(sections))),
            ChatMessage("assistant", reply),
        )

    def _action_section(self, action: str) -> str:
        language = self.domain.fence
        return f"**Action:**\n{fence(action, language) if language else action}"

    def _user_message(self, place: int, digest_tokens: int = 0, records: str = "") -> str:
        """The user message of a turn; with a digest when those before it are left out."""
        part = self.parts[place]
        sections = [f"### Turn {part.number}"]
        if self.task and place == 0:
            sections.append(f"**Task Instruction:**\n{self.task}\n")
        state = self._state(place, digest_tokens)
        if state:
            sections.append(f"**Current State:**\n{state}\n")
        if records:
            sections.append(_records_section(records))
        sections.append(self._action_section(part.action.text))
        return "\n".join(sections)

    def _state(self, place: int, digest_tokens: int) -> str:
        part = self.parts[place]
        told: list[str] = []
        when = self.domain.state
        if place == 0 and when != "never":
            told.append(self.initial_state)
        elif place > 0 and (when == "always" or (digest_tokens and when == "first")):
            told.append(self.parts[place - 1].answer or "")
        if digest_tokens:
            told.append(self._digest_of_cut(place, digest_tokens))
        if part.between:
            told.append(digest_of_others(part.between))
        return "\n\n".join(text for text in told if text)

    def _digest_of_cut(self, first: int, digest_tokens: int) -> str:
        lines: list[str] = []
        held = 0
        for part in reversed(self.parts[:first]):
            line = f"Turn {part.number}: {_line(part.action.text)} -> {_line(part.answer or '')}"
            held += tokens(line)
            if held > digest_tokens:
                lines.append(f"({part.number} turns before)")
                break
            lines.append(line)
        return "Earlier turns, in short:\n" + "\n".join(reversed(lines))

    def _first_kept(self, budget_tokens: int, digest_tokens: int) -> int:
        """The first turn that stays, as a function of the history alone.

        Found by going through the conversation as it grew: whenever it outgrew the budget, old turns
        went until it was down to its share. So two prompts in a row mostly begin alike.
        """
        fixed = tokens(self.system)
        sizes = [self._write(place).size for place in range(len(self.parts))]
        goal = max(fixed, budget_tokens * KEEP_AFTER_CUT)
        first, held = 0, fixed
        for place, size in enumerate(sizes):
            held += size
            if held <= budget_tokens:
                continue
            if first == 0:
                held += digest_tokens
            while first < place and held > goal:
                held -= sizes[first]
                first += 1
        return first


def digest_of_others(turns: Sequence[Turn]) -> str:
    """What other tools did and changed, in short."""
    lines = [f"- {_line(turn.action.text)} -> {_line(turn.observation.text)}" for turn in turns]
    left_out = len(lines) - DIGEST_LINES
    if left_out > 0:
        lines = [f"({left_out} calls before)", *lines[-DIGEST_LINES:]]
    written: dict[str, str] = {}
    for turn in turns:
        for path, entry in turn.change.files.items():
            if entry is None:
                written[path] = "removed"
            elif entry.kind == "file":
                written[path] = f"{entry.size} bytes"
    files = [f"{path} ({what})" for path, what in sorted(written.items())]
    text = "Calls of other tools since the turn before:\n" + "\n".join(lines)
    if files:
        shown = files[:DIGEST_LINES]
        more = f"\n({len(files) - len(shown)} more)" if len(files) > len(shown) else ""
        text += "\nFiles they changed:\n" + "\n".join(shown) + more
    return text


def correction_text(reason: str) -> str:
    """What is said to a model that must answer a turn again."""
    return (
        f"An earlier answer to this turn could not be used: {escape_markers(reason)}\n"
        "Answer the same action again, without that mistake."
    )


def tokens(text: str) -> int:
    """An estimate of a text's tokens, rather too high than too low."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def _records_section(records: str) -> str:
    return f"**Records:**\n{fence(records)}\n"


def _head(text: str, most_tokens: int) -> str:
    """The first lines of a text, and how many are missing."""
    if tokens(text) <= most_tokens:
        return text
    lines, held = text.split("\n"), 0
    for place, line in enumerate(lines):
        held += tokens(line)
        if held > most_tokens:
            return "\n".join((*lines[:place], f"({len(lines) - place} lines more are not shown)"))
    return text


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), DIGEST_WIDTH)


class PromptWriter:
    """Writes the conversations of the worlds of one scenario."""

    def __init__(self, prompts: PromptSet, prompt_context: PromptContext | None = None) -> None:
        self._prompts = prompts
        self._prompt_context = prompt_context or PromptContext()
        self._told: tuple[list[ToolSpec], tuple[str, bool], str] | None = None

    def conversation(
        self,
        prompt: Prompt,
        instruction: str = "",
        examples: tuple[PromptExample, ...] = (),
    ) -> Conversation:
        """The conversation that ends with what is asked.

        Args:
            instruction: How the world shall behave, beside what the context says of it.
        """
        prompt_context, subject = self._prompt_context, prompt.subject
        instruction = "\n".join(filter(None, (prompt_context.instruction, instruction)))
        memory = prompt.memory.setdefault(subject, {})
        if subject == COMMAND:
            return Conversation(
                domain=_COMMANDS,
                system=self._command_system(instruction),
                parts=prompt.parts,
                examples=examples,
                secrets=prompt_context.secrets | prompt.secrets,
                memory=memory,
            )
        return Conversation(
            domain=domain(subject),
            system=self._system(subject, prompt.tools, instruction, bool(prompt.records)),
            records=prompt.records,
            examples=examples,
            parts=prompt.parts,
            task=prompt_context.task if domain(subject).tells_task else "",
            initial_state=prompt_context.initial_state.get(subject, ""),
            secrets=prompt_context.secrets | prompt.secrets,
            # One world may have tools of several domains; each is a conversation of its own.
            memory=memory,
        )

    def _command_system(self, instruction: str) -> str:
        system = self._prompts.command()
        if not instruction:
            return system
        return f"{system}\n\n# Simulation instruction\n\n{escape_markers(instruction)}"

    def _system(
        self, name: DomainName, tools: Sequence[ToolSpec], instruction: str, with_records: bool
    ) -> str:
        # Tools are values: while they are the very same, so is what is said of them.
        told, rest = self._told, (instruction, with_records)
        if told and told[1] == rest and list(map(id, told[0])) == list(map(id, tools)):
            return told[2]
        prompt_context = self._prompt_context
        initial_state = prompt_context.initial_state.get(name, "")
        system = self._prompts.system(
            name,
            tools=tools,
            # What a first turn tells as its state is not said twice.
            initial_state=initial_state if domain(name).state == "never" else "",
            demonstrations=prompt_context.demonstrations.get(name, ""),
            instruction=instruction,
        )
        if with_records:
            system = f"{system}\n\n{self._prompts.records()}"
        self._told = (list(tools), rest, system)
        return system


_COMMANDS = replace(domain("terminal"), fence="", state="never")
"""Commands are conversed about as the terminal's actions are, without fence and state."""
