"""Instructions in plain words, compiled into controls: a model proposes them, and rules say what they are worth."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pydantic import ValidationError

from agentworld_sim.controls import SelectiveControl, control_kinds
from agentworld_sim.controls.control_list import BUILTIN_KINDS
from agentworld_sim.errors import UsageError
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.scenario._sections import ControlSpec, control_schema
from agentworld_sim.scenario._types import KeyedProblems

TRIES = 3

NONE = "none"
"""Written as the kind of what no control enforces."""

SYSTEM = """You turn an instruction about how a simulated world shall behave into controls: data that code enforces.

Split the instruction into its parts. For each part write `quote`, its words exactly as they stand there, and `kind`, with
the keys of that kind. Where no kind does what a part asks for, the kind is `none`: a control that does something else is worse
than none. Leave out keys that the instruction says nothing about. Answer with JSON: {"parts": [{"quote": …, "kind": …, …}]}.

Every kind takes these keys, which say what calls it strikes:
"""

_JOINTS = re.compile(r"(?i)(?:[\W_]|\b(?:and|but|also|then|so|or)\b)+")


@dataclass(frozen=True, slots=True)
class CompiledInstruction:
    """What came of an instruction."""

    controls: tuple[Mapping[str, Any], ...]
    """As a scenario writes them."""
    quotes: tuple[str, ...]
    """The words of the instruction that each of them was made of."""
    unenforced: tuple[str, ...]
    """The words that no control was made of: a world model can be told them, and may not keep to them."""


async def compile_instruction(text: str, client: ChatClient) -> CompiledInstruction:
    """Has a model write the controls that do what an instruction asks for.

    What it writes is held against the kinds, and it is told what is wrong; a control that stays wrong counts as not
    written. Whether a control does what its quote says, only a reader can tell.

    Raises:
        UsageError: there is no instruction.
        ModelFailure: no answer, or none that is JSON of the form asked for.
    """
    if not text.strip():
        raise UsageError("there is no instruction to compile: give a sentence, or several.")
    messages = [ChatMessage("system", SYSTEM + _catalogue()), ChatMessage("user", text)]
    schema = reply_schema()
    for attempt in range(TRIES):
        request = ChatRequest(
            messages=tuple(messages),
            max_tokens=client.settings.max_tokens,
            seed=attempt,
            thinking=client.settings.thinking,
            schema=schema,
        )
        content = (await client.ask(request)).content
        made, problems = _read(content, text)
        if made is not None and not problems:
            return made
        messages += [ChatMessage("assistant", content), ChatMessage("user", "\n".join(problems))]
        if made is not None and attempt == TRIES - 1:
            return made
    client.unusable(f"wrote no controls in {TRIES} tries. The last one: {messages[-1].content}")


def _read(content: str, text: str) -> tuple[CompiledInstruction | None, list[str]]:
    """The controls in a reply that are right, and what is wrong with the others, for the model."""
    try:
        reply: Any = json.loads(content[content.find("{") : content.rfind("}") + 1])
        parts = cast("list[dict[str, Any]]", reply["parts"])
        quoted = [(" ".join(str(one["quote"]).split()), {**one}) for one in parts]
    except (ValueError, KeyError, TypeError):
        return None, ['Answer with JSON of the form {"parts": [{"quote": …, "kind": …}]}.']
    controls: list[Mapping[str, Any]] = []
    quotes: list[str] = []
    problems: list[str] = []
    for quote, data in quoted:
        del data["quote"]
        if data.get("kind") == NONE:
            continue
        if quote not in " ".join(text.split()):
            problems.append(f"{quote!r} does not stand in the instruction: quote its own words.")
            continue
        kind = str(data.get("kind"))
        same = sum(one["kind"] == kind for one in controls)
        written = {**data, "kind": kind, "name": f"{kind}-{same + 1}" if same else kind}
        try:
            ControlSpec.model_validate(written)
        except ValidationError as error:
            problems.append(f"The control for {quote!r} is wrong: {_problems_of(error)}")
        else:
            controls.append(written)
            quotes.append(quote)
    return CompiledInstruction(tuple(controls), tuple(quotes), rest_of(text, quotes)), problems


def _problems_of(error: ValidationError) -> str:
    told: list[str] = []
    for one in error.errors(include_url=False):
        inner = one.get("ctx", {}).get("error")
        below = inner.problems if isinstance(inner, KeyedProblems) else [((), one["msg"])]
        told += [f"{'.'.join(map(str, (*one['loc'], *key)))}: {message}" for key, message in below]
    return "; ".join(told)


def rest_of(text: str, quotes: Sequence[str]) -> tuple[str, ...]:
    """What of a text none of the quotes covers."""
    plain = " ".join(text.split())
    covered = [False] * len(plain)
    for quote in quotes:
        for found in re.finditer(re.escape(quote), plain):
            covered[found.start() : found.end()] = [True] * len(quote)
    left = "".join("\0" if hidden else sign for sign, hidden in zip(plain, covered, strict=True))
    parts = (one.strip(" ,;:.") for one in re.split(r"\0+|(?<=[.!?;])\s", left))
    return tuple(one for one in parts if one and not _JOINTS.fullmatch(one))


@cache
def _fields_of(kind: str = "") -> tuple[dict[str, Any], list[str]]:
    """The keys of a kind, or those that all share, with their schemas, and which it needs; a name is given here."""
    schema = control_schema(control_kinds.get(kind) if kind else SelectiveControl)
    needed = [one for one in schema["required"] if one != "name"]
    return {key: one for key, one in schema["properties"].items() if key != "name"}, needed


def _catalogue() -> str:
    shared = _fields_of()[0]
    lines = [*_key_lines(shared), "", "The kinds:"]
    for name in BUILTIN_KINDS:
        own = {key: one for key, one in _fields_of(name)[0].items() if one != shared.get(key)}
        summary = " ".join((control_kinds.get(name).__doc__ or "").split())
        lines += [f"- {name}: {summary}", *_key_lines(own)]
    return "\n".join(lines)


def _key_lines(fields: Mapping[str, Any]) -> list[str]:
    return [
        f"  - {key}: {' '.join(one.get('description', '').split())}" for key, one in fields.items()
    ]


def reply_schema() -> dict[str, Any]:
    parts = [_part_schema(NONE, {}, [])]
    parts += [_part_schema(kind, *_fields_of(kind)) for kind in BUILTIN_KINDS]
    whole = {"parts": {"type": "array", "items": {"anyOf": parts}}}
    return _object(whole, ["parts"])


def _part_schema(kind: str, fields: Mapping[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    # The descriptions stand in the catalogue already.
    plain = {
        key: {name: value for name, value in one.items() if name != "description"}
        for key, one in fields.items()
    }
    own = {"quote": {"type": "string"}, "kind": {"const": kind}}
    return _object({**own, **plain}, [*own, *needed])


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
