"""Checks that look at answers: thinking kept apart, the tag, structured output, seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from agentworld_sim.llm.chat import ChatMessage, ChatReply, ChatRequest
from agentworld_sim.serving.doctor._connection import Connection
from agentworld_sim.serving.doctor._findings import Finding

TAG = "<predicted_observation>"

_SYSTEM = f"""You predict what the terminal of a Debian machine shows. Each user message is an action:
keystrokes as JSON. Think first, briefly. Then write the screen after the action, with the echoed command
and the new prompt, between {TAG} and </predicted_observation>, and nothing else."""

_KEYSTROKES = ("pwd", "echo $((6 * 7))", "ls", "whoami", "printf 'a\\\\nb\\\\n'", "date +%Y")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def conversation(number: int) -> tuple[ChatMessage, ...]:
    """A second turn in the world model's wire form; `number` varies the action."""
    return (
        ChatMessage("system", _SYSTEM),
        ChatMessage("user", _turn(1, "echo ready", "**Current State:**\nroot@lab:/srv# \n\n")),
        ChatMessage(
            "assistant",
            "**Environment Observation:**\nroot@lab:/srv# echo ready\nready\nroot@lab:/srv# ",
        ),
        ChatMessage("user", _turn(2, _KEYSTROKES[number % len(_KEYSTROKES)])),
    )


def _turn(number: int, command: str, state: str = "") -> str:
    keystrokes = json.dumps([{"keystrokes": f"{command}\n", "duration": 0.1}])
    return f"### Turn {number}\n\n{state}**Action:**\n```json\n{keystrokes}\n```"


def ask_for_observations(connection: Connection, count: int, max_tokens: int) -> list[ChatReply]:
    """`count` answers to short actions, one after the other.

    Raises:
        ModelFailure: one did not come.
    """
    asked = [
        ChatRequest(messages=conversation(number), max_tokens=max_tokens, seed=number)
        for number in range(count)
    ]
    return [reply for one in asked for reply in connection.ask(one)]


def check_thinking(answers: Sequence[ChatReply]) -> Finding:
    """Whether thinking arrives in a field of its own and not in the content."""
    leaked = sum("<think>" in one.content or "</think>" in one.content for one in answers)
    apart = [one for one in answers if one.thinking]
    if leaked:
        return Finding(
            check="reasoning parser",
            verdict="failed",
            summary=f"thinking stands in the content of {leaked} of {len(answers)} answers",
            advice="Start the server with --reasoning-parser qwen3.",
            data={"leaked": leaked, "apart": len(apart)},
        )
    if not apart:
        return Finding(
            check="reasoning parser",
            verdict="warning",
            summary="no answer had thinking",
            advice="Is it a model that thinks, and does its chat template honour enable_thinking?"
            " World models answer better with thinking (users' measurements: 125 of 150 against"
            " 101).",
            data={"leaked": 0, "apart": 0},
        )
    return Finding(
        check="reasoning parser",
        verdict="ok",
        summary=f"thinking arrives in `{apart[0].thinking_field}`",
        data={"leaked": 0, "apart": len(apart), "field": apart[0].thinking_field},
    )


def check_tag(answers: Sequence[ChatReply], max_tokens: int) -> Finding:
    """How many answers carry the observation in its tag."""
    tagged = sum(TAG in one.content for one in answers)
    cut = sum(one.finish_reason == "length" and TAG not in one.content for one in answers)
    empty = sum(not one.content.strip() and one.finish_reason != "length" for one in answers)
    whole = len(answers) - cut
    data = {"answers": len(answers), "tagged": tagged, "cut": cut, "empty": empty}
    summary = f"{tagged} of {whole} whole answers carry the tag"
    if cut:
        summary += f"; {cut} cut at {max_tokens:,} tokens"
    if not whole:
        return Finding(
            check="tag",
            verdict="warning",
            summary=f"cannot tell: all {cut} answers were cut at {max_tokens:,} tokens",
            advice="Give the doctor a larger --max-tokens, and worlds 32768.",
            data=data,
        )
    if tagged == whole:
        return Finding(check="tag", verdict="ok", summary=summary, data=data)
    if empty:
        return Finding(
            check="tag",
            verdict="failed",
            summary=f"{summary}; {empty} are empty though nothing cut them",
            advice="The reasoning parser took the answer for thinking: is it the one of this model?",
            data=data,
        )
    if tagged:
        return Finding(
            check="tag",
            verdict="warning",
            summary=summary,
            advice="Untagged answers are read as a whole, and counted.",
            data=data,
        )
    return Finding(
        check="tag",
        verdict="failed",
        summary=summary,
        advice="Is it a language world model? Qwen/Qwen-AgentWorld-35B-A3B is one.",
        data=data,
    )


def check_structured_output(connection: Connection, max_tokens: int, *, thinks: bool) -> Finding:
    """Whether a JSON schema is enforced, after the thinking.

    Raises:
        ModelFailure: no answer came, for another reason than the schema.
    """
    asked = ChatMessage("user", "Invent a person. Answer with name and age as JSON.")
    (answer,) = connection.ask(
        ChatRequest(messages=(asked,), max_tokens=max_tokens, seed=0, schema=SCHEMA)
    )
    if not answer.enforced:
        return _structured(
            "not supported: the server refuses a schema",
            "Answers will be checked and asked again instead.",
        )
    if not _fits(answer.content):
        if answer.finish_reason == "length":
            return _structured(
                f"cannot tell: the answer was cut at {max_tokens:,} tokens",
                "Give the doctor a larger --max-tokens.",
            )
        return _structured(
            "the schema was not enforced",
            "vLLM enforces it after the thinking with --reasoning-parser qwen3; SGLang likewise.",
        )
    if thinks and not answer.thinking:
        return _structured(
            "the schema is enforced, but the thinking is lost",
            "Start the server with --reasoning-parser qwen3.",
        )
    after = "after the thinking" if thinks else "(no thinking seen)"
    return Finding(check="structured output", verdict="ok", summary=f"enforced {after}")


def _structured(summary: str, advice: str) -> Finding:
    return Finding(check="structured output", verdict="warning", summary=summary, advice=advice)


def _fits(content: str) -> bool:
    try:
        found = json.loads(content)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return False
    person = cast("dict[str, object]", found)
    return (
        set(person) == {"name", "age"}
        and isinstance(person["name"], str)
        and isinstance(person["age"], int)
    )


def check_seeds(connection: Connection) -> Finding:
    """Whether the same seed gives the same answer, and another another.

    Raises:
        ModelFailure: an answer did not come.
    """
    asked = ChatMessage("user", "Write twelve random words, and nothing else.")
    texts: list[str] = []
    for seed in (7, 7, 8):
        request = ChatRequest(messages=(asked,), max_tokens=24, seed=seed, thinking=False)
        (answer,) = connection.ask(request, temperature=1.0)
        texts.append(answer.thinking + answer.content)
    first, again, other = texts
    if first != again:
        return Finding(
            check="seeds",
            verdict="warning",
            summary="the same seed gave two different answers",
            advice="What else is computed at the same time changes the last bits. Record answers that"
            " must repeat, or start vLLM with VLLM_BATCH_INVARIANT=1.",
        )
    if first == other or not first.strip():
        return Finding(
            check="seeds",
            verdict="warning",
            summary="cannot tell: another seed gave the same answer",
            advice="The server may ignore seeds and temperature.",
        )
    return Finding(check="seeds", verdict="ok", summary="the same seed, the same answer")
