"""Samples to predict, and judges to rate predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.scoring import Message, PredictionSample

BEFORE = "total 8\n-rw-r--r-- 1 dev dev 12 Mar  4 05:06 notes.txt"
TRUTH = "alpha beta\ngamma delta\nepsilon zeta"
WRONG = "alpha beta\ngamma delta\nepsilon theta"


def bash(command: str) -> dict[str, Any]:
    return {"name": "bash", "arguments": {"command": command}}


TOOL = {
    "name": "bash",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    "access": "simulate",
    "domain": "swe",
}


def sample(
    truth: str = TRUTH,
    *,
    command: str = "cat notes.txt",
    before: str = BEFORE,
    provenance: str | None = "computed",
    **changes: Any,
) -> PredictionSample:
    """The second turn of a session in a shell.

    Args:
        truth: What the environment said.
        command: What was run.
        before: What the environment said on the first turn, to `ls -l`.
        provenance: Of the truth; `None` for a sample without evidence.
        changes: Other fields of the sample, or `tool`, of its evidence.
    """
    tool = {**TOOL, **changes.pop("tool", {})}
    first, action = json.dumps(bash("ls -l")), json.dumps(bash(command))
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "You are a shell. Answer inside <predicted_observation>."},
        {"role": "user", "content": f"### Turn 1\n**Action:**\n```json\n{first}\n```"},
        {"role": "assistant", "content": f"**Environment Observation:**\n{before}"},
        {"role": "user", "content": f"### Turn 2\n**Action:**\n```json\n{action}\n```"},
    )
    evidence = {
        "provenance": provenance,
        "call": bash(command),
        "tool": tool,
        "history": [
            {
                "call": bash("ls -l"),
                "action": first,
                "observation": {"text": before, "provenance": "computed"},
            }
        ],
    }
    made = PredictionSample(
        id="t1/2",
        task="t1",
        trajectory="t1",
        turn=2,
        domain="swe",
        messages=messages,
        observation=truth,
        evidence=None if provenance is None else evidence,
    )
    return replace(made, **changes)


def answer(text: str, thinking: str = "") -> str:
    """What a policy writes, in the whole form."""
    thought = f"<think>\n{thinking}\n</think>\n\n" if thinking else ""
    return f"{thought}<predicted_observation>\n{text}\n</predicted_observation>"


def verdict(scores: Mapping[str, Any] | int) -> str:
    """A judge's reply."""
    if isinstance(scores, int):
        names = ("format", "factuality", "consistency", "realism", "quality")
        scores = dict.fromkeys(names, scores)
    value: dict[str, Any] = {"strengths": [], "weaknesses": [], "scores": scores}
    return f"<final_evaluation>\n```json\n{json.dumps(value)}\n```\n</final_evaluation>"


def rated(request: ModelRequest) -> str:
    """The prediction that a judge was asked about."""
    section = request.last_user.split("## The prediction that you rate\n", 1)[1]
    fence, _, rest = section.partition("\n")
    return rest.split(f"\n{fence}\n\n## What really happened", 1)[0]


def judge_server(*replies: str) -> ScriptedModelServer:
    return ScriptedModelServer(list(replies), model="judge")


def gullible(request: ModelRequest) -> str:
    """A judge that gives 5 to whatever is not the one honest wrong answer that it knows, and 2 to that."""
    return verdict(2 if rated(request) == WRONG else 5)
