"""Rules that a predicted answer keeps or breaks, whatever else it says: it obeys what the model was told, it fails as
the environment failed, and it agrees with what was said long before."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from agentworld_sim.bench.transitions import RecordedCall, Transition, parse_json, scalars_of
from agentworld_sim.checks import Check, CheckInput, known_checks
from agentworld_sim.errors import UsageError
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.files import FileTree, MemoryBlobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

RULES = ("control", "error", "long context")
"""What the rules are called in figures."""

DISTANCE = 8
"""Calls that lie between what was said and an answer that must agree with it."""

_WORD = re.compile(r"[^\s,;:|=\"'()\[\]{}<>]{4,}")
_SYSTEM = re.compile(
    "|".join([*(re.escape(os.strerror(one)) for one in errno.errorcode), "command not found"]),
    re.IGNORECASE,
)
_KINDS = (_SYSTEM, re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b"), re.compile(r"\b[45]\d\d\b"))
_CODES = ("code", "error_code", "status", "type")
_QUOTED = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


class AnswerSchemaCheck:
    """The answer, as `{"text", "value", "is_error"}`, fits a JSON Schema; `value` is the text as JSON where it is JSON."""

    name = "answer-schema"
    scope: Literal["all"] = "all"

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def judge(self, given: CheckInput) -> str | None:
        text, failed = given.observation.text, given.observation.is_error
        value = {"text": text, "value": parse_json(text), "is_error": failed}
        return schema_problem(self.schema, value)


def read_verifier(written: Mapping[str, Any]) -> Check:
    """The check that a verifier names.

    Args:
        written: `{"check": "answer-schema", "schema": …}`, or the name of a known check alone.

    Raises:
        UsageError: there is no such check, or it takes other arguments.
    """
    name, arguments = written.get("check", ""), {*written} - {"check"}
    own = name == AnswerSchemaCheck.name
    if arguments != ({"schema"} if own else set()):
        raise UsageError(
            f"the verifier {dict(written)!r} is not understood: 'answer-schema' takes a 'schema', every other"
            f" check its name alone. Checks: {AnswerSchemaCheck.name}, {', '.join(known_checks.names())}."
        )
    return AnswerSchemaCheck(written["schema"]) if own else known_checks.get(name)


def obeys(
    verifiers: Iterable[Mapping[str, Any]], call: ToolCall, tool: ToolSpec, answer: Observation
) -> bool:
    """Whether all verifiers accept an answer. Their checks see the call and the answer, and a state without files.

    Raises:
        UsageError: a verifier is not understood.
    """
    state = WorldState(files=FileTree({}), clock_us=0, seed=0)
    given = CheckInput(call, tool, answer, state, state, MemoryBlobs())
    return all(read_verifier(one).judge(given) is None for one in verifiers)


def rules_of(transition: Transition, text: str, is_error: bool) -> dict[str, bool]:
    """Whether an answer keeps each rule that can be asked of a call.

    `control`: all verifiers of the call accept it, and it fails if the environment failed. `error`, where the
    environment failed: it fails too, with an error of the same kind. `long context`, where the environment repeated
    what was said more than `DISTANCE` calls ago and not since: it says that too.

    Args:
        transition: What was asked about.
        text: The predicted answer.
        is_error: Whether the tool was predicted to fail.

    Raises:
        UsageError: a verifier is not understood.
    """
    truth, found = transition.truth, dict[str, bool]()
    if truth.verifiers:
        given = Observation(text=text, is_error=is_error, provenance="imagined")
        same_end = truth.observation.is_error == is_error
        found["control"] = same_end and obeys(truth.verifiers, truth.call, transition.tool, given)
    if kind := error_kind(truth.observation.text, truth.observation.is_error, truth):
        found["error"] = error_kind(text, is_error, truth) == kind
    elif recalled := recalled_words(transition):
        found["long context"] = not is_error and recalled <= words_of(text)
    return found


def error_kind(text: str, is_error: bool, call: RecordedCall) -> str:
    """What kind of error an answer is: a message of the system, a class of exceptions, a status or a code; else its
    words without the call's own. Empty for an answer that is no error.

    A text that ends a line with a message of the system is one, and an object that has `error` and nothing else.
    """
    value = parse_json(text)
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    system = next((one for one in _SYSTEM.finditer(text) if text[one.end() :][:1] in "\n"), None)
    if not (is_error or fields.keys() == {"error"} or (system and not fields)):
        return ""
    inner = fields.get("error", fields)
    codes = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    for name in _CODES:
        if isinstance(codes.get(name), str | int):
            return f"{name} {codes[name]}"
    for pattern in _KINDS:
        if found := pattern.search(text):
            return found[0].casefold()
    for one in sorted(map(str, scalars_of(dict(call.call.arguments))), key=len, reverse=True):
        text = text.replace(one, " ") if one else text
    return " ".join(re.findall(r"[^\W\d_]+", _QUOTED.sub(" ", text).casefold())) or "failed"


def recalled_words(transition: Transition) -> frozenset[str]:
    """The words of the true answer that stood in the session more than `DISTANCE` calls ago, and not since; none that
    were drawn by chance."""
    truth, calls = transition.truth, transition.session.calls[: transition.place]
    left = words_of(truth.observation.text) - said_words(truth, answer=False) - truth.by_chance
    for one in calls[-DISTANCE:]:
        left -= said_words(one)
    early = (said_words(one) for one in calls[:-DISTANCE])
    return frozenset(left & frozenset[str]().union(*early)) if left else left


def said_words(one: RecordedCall, *, answer: bool = True) -> frozenset[str]:
    """The words of a call's arguments, and of its answer."""
    words = frozenset(
        word for value in scalars_of(dict(one.call.arguments)) for word in words_of(str(value))
    )
    return words | words_of(one.observation.text) if answer else words


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The words of the values in a text, not those of its fields' names."""
    return frozenset(word for one in _values_of(parse_json(text)) for word in _WORD.findall(one))


def _values_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _values_of(one)
    else:
        yield str(value)
