"""What makes a reply unusable, said so that the model can do better when it is asked again."""

from __future__ import annotations

import json
import re
from typing import Any

from agentworld_sim.imagination.parsing import (
    ANSWER_TAG,
    THINKING_TAG,
    Known,
    ParsedReply,
    mentions_thinking,
    text_of,
)
from agentworld_sim.llm.chat import ChatReply, Watch
from agentworld_sim.plain_text import shorten

__all__ = ["LOOP_CHARS", "THINKING_LOOP_CHARS", "loop_watch", "repeats", "reply_fault"]

LOOP_CHARS = 40_000
"""So much of one thing over and over ends an answer that is still streaming. Tables of equal rows and
dumps of zeros are real, and are shorter than this when a tool shows them."""

THINKING_LOOP_CHARS = 12_000
"""The same for thinking, where it is never right."""

_CUT_CHARS = 2_000
"""The same for a reply that ran into its limit."""

_PERIODS = 8
"""How often something is said before it counts as a loop."""

_HEAD_CHARS = 1_000
_FORM = f"Answer with the observation alone, inside <{ANSWER_TAG}> and </{ANSWER_TAG}>."

_YES = r"(?:(?:sure|certainly|of course|absolutely|okay|ok|alright|understood|got it)\b[,.!:]* +)?"
_THING = (
    r"(?:observation|output|screen|response|result|state|terminal|environment|tool|page|answer)s?\b"
)
_GUESS = r"(?:predicted|simulated|imagined|hypothetical)"
_HERE = r"(?:here(?:'s| is| are| comes)|below (?:is|are))"
_PROSE = re.compile(
    rf"{_YES}(?:"
    rf"{_HERE} (?:[\w'-]+ ){{0,3}}{_GUESS} (?:[\w'-]+ ){{0,2}}{_THING}"
    rf"|{_HERE} (?:the|my|an?|your) (?:[\w'-]+ ){{0,2}}observation\b"
    rf"|the {_GUESS} (?:[\w'-]+ ){{0,2}}observation\b"
    r"|i(?:'ll| will| would| am going to|'m going to) (?:now )?(?:predict|simulate|imagine) (?:the|what)\b"
    r")",
    re.IGNORECASE,
)
"""Never the beginning of an observation."""

_UNTAGGED_PROSE = re.compile(
    rf"{_YES}(?:"
    rf"{_HERE} (?:the|what) (?:[\w'-]+ ){{0,3}}(?:{_THING}|would|you would)[^\n]*:\s*$"
    rf"|the (?:{_GUESS}|expected) (?:[\w'-]+ ){{0,2}}{_THING} (?:is|are|would|will|after|of|for)\b"
    r"|based on the (?:[\w'-]+ ){0,4}(?:actions?|conversation|history|context|turns?|commands?)\b"
    rf"[^\n]{{0,80}}(?:\b{_GUESS}\b|\bobservation\b|\b{_THING} (?:would|will|should)\b)"
    r"|(?:sure|certainly|of course|absolutely)[,.!]+ +(?:here|i(?:'ll| will| can)|let me|below)\b"
    r")",
    re.IGNORECASE | re.MULTILINE,
)
"""Could be one, but not without its tag."""

_NOTE = re.compile(
    r"[*_(\[]*(?:please )?(?:note|explanation|disclaimer|reasoning)\b[*_]*(?: that|:)[^\n]{0,200}"
    rf"(?:\b{_GUESS} (?:[\w'-]+ )?{_THING}|\bthis (?:is|observation)\b[^\n]{{0,30}}\b(?:{_GUESS}|predict"
    r"ion|simulation)\b|\b(?:actual|exact|real) [^\n]{0,40}\b(?:may|might|could|will|would) (?:vary|differ))"
    rf"|[*_(\[]*this (?:{_GUESS} )?(?:observation|prediction|simulation|output|response)\b[^\n]{{0,120}}"
    r"\b(?:assum\w+|is based on|reflects? the|represents? the)\b",
    re.IGNORECASE,
)
_REASONING = re.compile(
    r"(?:okay|ok|alright|hmm)\b[,.]*(?: so\b,?)? +"
    r"(?:the user|let me(?! know)|let's (?:see|think|look|figure|predict|simulate)|(?:i|we) need to)\b"
    r"|let(?:'s| me) (?:think|predict|simulate|figure out|recall|reason|work through)\b"
    r"|let(?:'s| me) analy[sz]e (?:the|this) (?:action|command|conversation|call|tool)\b"
    r"|(?:(?:first|so|now),? )?(?:we|i) (?:need|have|must|should)(?: to)?"
    r" (?:predict|simulate|figure out|(?:output|produce|generate) the|think about what)\b"
    r"|the user (?:is|wants|has|just|executed|issued|ran|called)\b[^\n]{0,40}"
    r"(?:\b(?:me to|us to|command|action|tool|keystrokes?)\b|`)"
    r"|(?:\*\*|#+ )?(?:thinking process|chain of thought|thought process)\b"
    r"|here(?:'s| is) (?:a|my) (?:thinking|thought|reasoning) process\b",
    re.IGNORECASE,
)
_THINKING = re.compile(rf"</?{THINKING_TAG}>", re.IGNORECASE)
_OTHER_THINKING = re.compile(r"<(?:thinking|thought|reasoning|\|thinking\|)>", re.IGNORECASE)


def reply_fault(
    reply: ChatReply, parsed: ParsedReply, *, enforced: bool = False, known: Known = ""
) -> str | None:
    """Why a reply cannot be used, written for the model that must answer again; `None` when it can.

    An answer without its tag is no fault by itself.

    Args:
        enforced: The server held the content to a schema, so that it is JSON without a tag.
        known: What the model was shown of the world. What stands there may be said again, whatever
            it looks like. Leave out what the model was told of its own replies: the reasons here
            quote them.
    """
    if reply.finish_reason == "interrupted":
        return f"the reply was broken off: {reply.interruption or 'it did not end'}. {_ending()}"
    cut = reply.finish_reason == "length"
    if not parsed.tagged and not parsed.text.strip():
        return _empty(reply, parsed, cut=cut)
    if (
        cut
        and not parsed.closed
        and (fault := _cut(reply))
        and not (enforced and is_json(parsed.text))
    ):
        return fault
    if enforced:
        return None if is_json(parsed.text) else _not_json(parsed)
    return _thinking_fault(parsed, known) or _prose(parsed, known)


def _empty(reply: ChatReply, parsed: ParsedReply, *, cut: bool) -> str:
    if cut:
        limit = reply.parameters.get("max_tokens")
        used = f"all {limit:,} tokens" if isinstance(limit, int) else "all tokens"
        return (
            f"there was no answer: thinking used up {used} of the reply. Think briefly, then answer."
            f" {_FORM}"
        )
    if reply.content.strip() and parsed.thinking:
        return f"there was no answer: the reply held nothing but thinking. {_FORM}"
    if reply.thinking:
        return f"there was no answer after the thinking. {_FORM}"
    return f"the reply was empty. {_FORM}"


def _cut(reply: ChatReply) -> str:
    if loop := repeats(reply.content):
        return f"{loop}, until the reply reached its limit. {_ending()}"
    return (
        "the answer was cut off where the reply reached its limit. Think less, and where the real"
        " output is very long, shorten it as the real tool or screen would."
    )


def _ending() -> str:
    return (
        "Write what the real environment would show and stop; where the real output is very long,"
        " shorten it as the real tool or screen would."
    )


def is_json(text: str) -> bool:
    """Whether a text is JSON, to the letter of its standard."""
    return _json_problem(text) is None


def _not_json(parsed: ParsedReply) -> str:
    return f"the answer is not valid JSON ({_json_problem(parsed.text)}). Answer with JSON alone."


def _json_problem(text: str) -> str | None:
    try:
        json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _thinking_fault(parsed: ParsedReply, known: Known) -> str | None:
    said = "thinking stands inside the observation"
    if parsed.leaked:
        return f"{said}. {_FORM}"
    if _THINKING.search(parsed.text) and not mentions_thinking(known):
        return f"{said}: there is a <think> or </think> tag in it. {_FORM}"
    head = parsed.text[:_HEAD_CHARS].lstrip()
    opening = _OTHER_THINKING.match(head)
    if opening is None and not parsed.tagged:
        opening = _REASONING.match(head)
    if opening is None or _is_known(head, known):
        return None
    return f"{said}: it begins with {_quote_line(head)}. {_FORM}"


def _prose(parsed: ParsedReply, known: Known) -> str | None:
    head = parsed.text[:_HEAD_CHARS].lstrip()
    opening = _PROSE.match(head) or (None if parsed.tagged else _UNTAGGED_PROSE.match(head))
    if opening is not None and not _is_known(head, known):
        return f"there is prose before the observation: {_quote_line(head)}. {_FORM}"
    if parsed.tagged:
        return None
    last = _last_paragraph(parsed.text)
    if last and _NOTE.match(last) and not _is_known(last, known):
        return f"there is a note after the observation: {_quote_line(last)}. {_FORM}"
    return None


def _last_paragraph(text: str) -> str:
    """What follows the last blank line; empty when there is none."""
    tail = text[-2 * _HEAD_CHARS :].rstrip()
    before, gap, last = tail.replace("\r\n", "\n").rpartition("\n\n")
    return last.lstrip() if gap and before.strip() else ""


def _first_line(text: str) -> str:
    return text.partition("\n")[0].strip()


def _is_known(text: str, known: Known) -> bool:
    return _first_line(text) in text_of(known)


def _quote_line(text: str) -> str:
    return repr(shorten(_first_line(text), 80))


def repeats(text: str, *, least: int = _CUT_CHARS, numbers: bool = True) -> str | None:
    """What a text says over and over at its end, as the beginning of a sentence; `None` if nothing.

    Real outputs can look so: ask this only of a reply that did not end by itself.

    Args:
        least: How many characters at the end must be one thing said eight times or more.
        numbers: Whether it counts when only the numbers in it differ.
    """
    if len(text) < least:
        return None
    tail = text[-least:]
    period = _period(tail)
    if period is not None:
        return f"the reply says {shorten(tail[-period:], 60)!r} over and over"
    if not numbers:
        return None
    # Doubled, because numbers are shorter than what they stand for.
    counted = re.sub(r"\d+", "0", text[-2 * least :])
    period = _period(counted[-least:]) if len(counted) >= least else None
    if period is not None:
        return (
            f"the reply says {shorten(counted[-period:], 60)!r} over and over, with other numbers"
        )
    return None


def _period(text: str) -> int | None:
    """After how many characters all of `text` repeats; `None` if it does so less than eight times."""
    longest = len(text) // _PERIODS
    # From the end, so that `find` (linear, unlike `rfind`) gives the shortest.
    backward = text[::-1]
    period = backward.find(backward[:longest], 1)
    if 0 < period <= longest and backward[period:] == backward[:-period]:
        return period
    return None


def loop_watch() -> Watch:
    """A watch that breaks off a reply which only repeats itself.

    It looks again after every quarter of what makes a loop, so that all its work together is linear in
    the reply's length.
    """
    looked = {"content": 0, "thinking": 0}

    def watch(content: str, thinking: str) -> str | None:
        for name, text, least in (
            ("content", content, LOOP_CHARS),
            ("thinking", thinking, THINKING_LOOP_CHARS),
        ):
            if len(text) - looked[name] < least // 4:
                continue
            looked[name] = len(text)
            # An answer may be a table of numbers.
            if found := repeats(text, least=least, numbers=name == "thinking"):
                return found
        return None

    return watch
