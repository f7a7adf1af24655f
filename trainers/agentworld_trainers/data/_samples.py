"""From a world's trajectory to predictions of its observations, in the world model's own wire form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentworld_sim.engines.call_question import call_prompt, domain_of
from agentworld_sim.imagination.conversation import Conversation, PromptWriter
from agentworld_sim.imagination.prompt_set import PromptSet, escape_markers
from agentworld_sim.redaction.environment import mask_secrets
from agentworld_sim.scoring import EVIDENCE_BYTES, Message, PredictionSample, evidence_of
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.turns import Turn
from agentworld_trainers.data._rows import Document
from agentworld_trainers.data._source import SourceTrajectory

PROMPT_TOKENS = 229_376
"""What the released checkpoint's context of 262,144 tokens leaves beside a reply of 32,768."""

_WHOLE = 10**12


def samples_of(
    source: SourceTrajectory,
    *,
    prompts: PromptSet | None = None,
    prompt_tokens: int = PROMPT_TOKENS,
    evidence_bytes: int = EVIDENCE_BYTES,
) -> list[PredictionSample]:
    """One sample for every turn whose tool is declared, unfiltered.

    The messages are what `ModelEngine` sends for that turn. The observation is what later prompts of
    the same conversation tell of it.

    Args:
        prompts: What the model is told about its part; the shipped prompts by default.
        prompt_tokens: Most tokens of a prompt, by the estimate of the run time: whole old turns are
            left out until it fits.
        evidence_bytes: Most bytes of evidence; a sample for which there is more has none.
    """
    return list(_samples(source, prompts, prompt_tokens, evidence_bytes))


def documents_of(source: SourceTrajectory, *, prompts: PromptSet | None = None) -> list[Document]:
    """The whole trajectory, one conversation for each domain; every turn's answer stays in the loss.

    Args:
        prompts: As for `samples_of`.
    """
    writer = PromptWriter(prompts or PromptSet.default(), source.prompt_context)
    turns = with_told_actions(source)
    last: dict[str, int] = {}
    for index, turn in enumerate(turns):
        tool = source.tools.get(turn.call.name)
        if tool is not None:
            last[domain_of(tool).name] = index
    documents: list[Document] = []
    for index in last.values():
        turn, tool = turns[index], source.tools[turns[index].call.name]
        prompt = call_prompt(
            turn.call, tool, tools=source.tools, history=turns[:index], action=turn.action
        )
        asked = writer.conversation(prompt)
        answer = asked.domain.write(turn.observation)
        said = replace(asked, parts=(*asked.parts[:-1], replace(asked.parts[-1], answer=answer)))
        documents.append(
            Document(
                id=f"{source.id}/{asked.domain.name}",
                task=source.task,
                domain=asked.domain.name,
                messages=_messages(said, _WHOLE),
                keep=(1.0,) * len(asked.parts),
            )
        )
    return documents


def with_told_actions(source: SourceTrajectory) -> tuple[Turn, ...]:
    """The turns with their actions written as the source's tools are told to a model."""
    return tuple(_with_told_action(turn, source) for turn in source.turns)


def thinking_of(turn: Turn) -> str:
    """What a model thought before the answer that became the turn; empty where none did."""
    if turn.observation.provenance not in ("imagined", "replayed") or not turn.exchanges:
        return ""
    last = turn.exchanges[-1]
    return "" if last.problem or last.about != "observation" else last.thinking


def _samples(
    source: SourceTrajectory,
    prompts: PromptSet | None,
    prompt_tokens: int,
    evidence_bytes: int,
) -> Iterator[PredictionSample]:
    writer = PromptWriter(prompts or PromptSet.default(), source.prompt_context)
    turns = with_told_actions(source)
    state = source.before
    memory: dict[str, Any] = {}
    for index, turn in enumerate(turns):
        tool = source.tools.get(turn.call.name)
        if tool is not None:
            history = turns[:index]
            prompt = call_prompt(
                turn.call,
                tool,
                tools=source.tools,
                history=history,
                action=turn.action,
                memory=memory,
            )
            asked = writer.conversation(prompt)
            messages = _messages(asked, prompt_tokens)
            observation = mask_secrets(
                escape_markers(asked.domain.write(turn.observation)), source.prompt_context.secrets
            )
            yield PredictionSample(
                id=_id(messages, observation),
                task=source.task,
                trajectory=source.id,
                turn=index + 1,
                domain=asked.domain.name,
                messages=messages,
                observation=observation,
                thinking=source.thinking.get(index + 1) or thinking_of(turn),
                evidence=evidence_of(
                    turn,
                    tool,
                    history,
                    before=state,
                    blobs=source.blobs,
                    most_bytes=evidence_bytes,
                ),
            )
        if state is not None:
            state = state.after(turn.change)


def _with_told_action(turn: Turn, source: SourceTrajectory) -> Turn:
    tool = source.tools.get(turn.call.name)
    if tool is None:
        return turn
    action = domain_of(tool).action(turn.call, tool)
    # The same characters in another order are the same call: records do not keep the order of a call's
    # arguments, but the recorded action does.
    same = sorted(action.text) == sorted(turn.action.text)
    return turn if same else replace(turn, action=action)


def _messages(asked: Conversation, prompt_tokens: int) -> tuple[Message, ...]:
    return tuple(
        Message(role=one.role, content=one.content)
        for one in asked.messages(budget_tokens=prompt_tokens)
    )


def _id(messages: tuple[Message, ...], observation: str) -> str:
    return hash_ref("sample", {"messages": list(messages), "observation": observation})
