"""Reading a reply: thinking out, then the last answer that was opened.

The rules are those of the released model's own evaluation script (QwenLM/Qwen-AgentWorld,
`eval/lwm_eval_utils/output_parser.py`), with three departures:

* That script strips the answer. A screen may begin with an indented line and ends with a prompt and a
  space, so here one line break after the opening tag and one before the closing tag belong to the tags
  and everything else to the answer. Without tags, blank lines around the answer are dropped.
* Thinking tags inside an answer that is opened and closed, but which do not pair up there, are part of
  the answer (a file may contain them). That script removes everything up to an orphaned closing tag,
  the answer's own opening tag included.
* A closing tag at the end of an answer that was never opened is no part of it."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from agentworld_sim.ports import OnDelta

ANSWER_TAG = "predicted_observation"
THINKING_TAG = "think"
MARKER = "**Environment Observation:**"

_TAG = re.compile(rf"<(/?)({THINKING_TAG}|{ANSWER_TAG})>", re.IGNORECASE | re.ASCII)
_MENTION = re.compile(rf"< ?/?{THINKING_TAG}>", re.IGNORECASE)
_FENCE = re.compile(r"(`{3,})([\w+.#-]{0,40})[ \t\r]*")

Known = str | Callable[[], str]
"""What the model was shown of the world; a function where it costs something to collect."""

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply says."""

    text: str
    """The answer."""
    tagged: bool
    """Whether it stood in its tag."""
    thinking: str = ""
    """What was found inside the content, beside the answer."""
    closed: bool = False
    """Whether the tag was closed: the answer is whole, whatever followed."""
    leaked: bool = False
    """Whether some of the thinking stood in the middle of the answer."""


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    thinking: bool
    opens: bool


def parse_reply(content: str, *, enforced: bool = False, known: Known = "") -> ParsedReply:
    """Reads a reply's content. Takes time linear in its length, whatever it is.

    Args:
        content: What the model said, with or without its thinking.
        enforced: The server was asked to hold the content to a schema, and agreed: it is JSON, and
            whatever looks like a tag stands in a string. Some agree and do not hold it: what begins
            with a tag, or with thinking, is read as any other reply.
        known: What the model was shown of the world: the call and earlier observations. Where these
            contain a thinking tag, one inside an answer is quoted and stays.
    """
    if enforced and not content.lstrip().startswith("<"):
        return ParsedReply(content.strip(), tagged=False)
    tags = _tags(content)
    if not tags:
        return ParsedReply(_unwrap(_without_blank_ends(content)), tagged=False)
    removed = _thinking(tags, len(content), known)
    thinking = "\n".join(filter(None, (_bare(content[a:b]) for a, b in removed)))
    answers = [tag for tag in _outside(tags, removed) if not tag.thinking]
    last = next((i for i in range(len(answers) - 1, -1, -1) if answers[i].opens), None)
    if last is None:
        return _parse_untagged(content, removed, thinking)
    start, after = answers[last].end, answers[last + 1 : last + 2]
    end = after[0].start if after else len(content)
    text = _cut_out(content, (start, end), removed)
    whole = len(text) == end - start
    text = _without_tag_breaks(text) if whole else _without_blank_ends(text)
    return ParsedReply(
        _unwrap(text),
        tagged=True,
        thinking=thinking,
        closed=bool(after),
        leaked=_interrupts(content, (start, end), removed),
    )


def text_of(known: Known) -> str:
    """What is known, collected."""
    return known if isinstance(known, str) else known()


def mentions_thinking(known: Known) -> bool:
    """Whether a thinking tag stands in it, as it is or as prompts write it: `< think>`."""
    return _MENTION.search(text_of(known)) is not None


def _tags(content: str) -> list[_Tag]:
    return [
        _Tag(found.start(), found.end(), found[2].lower() == THINKING_TAG, not found[1])
        for found in _TAG.finditer(content)
    ]


def _thinking(tags: Sequence[_Tag], length: int, known: Known) -> list[_Span]:
    """The stretches of thinking, tags included, in order and apart from each other."""
    spans: list[_Span] = []
    pending: deque[_Tag] = deque()
    orphaned = 0
    index = 0

    @cache
    def quotes() -> bool:
        return mentions_thinking(known)

    while index < len(tags):
        tag = tags[index]
        index += 1
        if tag.thinking and tag.opens:
            pending.append(tag)
        elif tag.thinking and pending:
            spans.append((pending.popleft().start, tag.end))
        elif tag.thinking:
            orphaned = tag.end
        elif tag.opens and not pending:
            index = _past_quotes(tags, index, quotes)
    if orphaned:
        spans.append((0, orphaned))
    openings = [tag.start for tag in tags if not tag.thinking and tag.opens]
    for tag in pending:
        # Thinking that is never closed ends where an answer begins.
        following = bisect_right(openings, tag.start)
        spans.append((tag.start, openings[following] if following < len(openings) else length))
    return _merge(spans)


def _past_quotes(tags: Sequence[_Tag], index: int, quotes: Callable[[], bool]) -> int:
    """Where to go on after an opened answer: behind the tags that are part of it."""
    end, depth, paired = index, 0, True
    while end < len(tags) and tags[end].thinking:
        depth += 1 if tags[end].opens else -1
        paired = paired and depth >= 0
        end += 1
    if end in (index, len(tags)) or tags[end].opens:
        return index
    return end if depth or not paired or quotes() else index


def _merge(spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _outside(tags: Sequence[_Tag], removed: Sequence[_Span]) -> list[_Tag]:
    """The tags that do not stand in thinking."""
    starts = [start for start, _ in removed]
    found: list[_Tag] = []
    for tag in tags:
        before = bisect_right(starts, tag.start) - 1
        if before < 0 or removed[before][1] <= tag.start:
            found.append(tag)
    return found


def _cut_out(content: str, within: _Span, removed: Sequence[_Span]) -> str:
    """What is left of a stretch without the thinking."""
    parts: list[str] = []
    at, end = within
    for start, stop in removed:
        if stop <= at or start >= end:
            continue
        parts.append(content[at : max(at, start)])
        at = min(stop, end)
    return "".join([*parts, content[at:end]])


def _interrupts(content: str, within: _Span, removed: Sequence[_Span]) -> bool:
    """Whether thinking stands behind a part of the answer."""
    start, end = within
    first = next((a for a, b in reversed(removed) if b > start and a < end), None)
    return first is not None and bool(
        _cut_out(content, (start, max(first, start)), removed).strip()
    )


def _parse_untagged(content: str, removed: Sequence[_Span], thinking: str) -> ParsedReply:
    text = _cut_out(content, (0, len(content)), removed)
    closing = f"</{ANSWER_TAG}>"
    end = len(text.rstrip())
    if text[max(0, end - len(closing)) : end].lower() == closing:
        text = text[: end - len(closing)]
    return ParsedReply(
        _unwrap(_without_blank_ends(text)),
        tagged=False,
        thinking=thinking,
        leaked=_interrupts(content, (0, len(content)), removed),
    )


def _bare(thinking: str) -> str:
    return _TAG.sub("", thinking).strip()


def _without_tag_breaks(text: str) -> str:
    """Without the line break that belongs to the opening tag and the one that belongs to the closing."""
    opening = _break_length(text)
    text = text[opening:]
    # After a plain line break, a carriage return at the end is the answer's own.
    return text[:-2] if opening != 1 and text.endswith("\r\n") else text.removesuffix("\n")


def _break_length(text: str) -> int:
    return 2 if text.startswith("\r\n") else int(text.startswith("\n"))


def _without_blank_ends(text: str) -> str:
    """Without blank lines at both ends; the first line keeps its indent, the last its final spaces."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if start >= end:
        return ""
    start = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    return (text[start:] if stop < 0 else text[start:stop]).removesuffix("\r")


def _unwrap(text: str) -> str:
    """Without the marker in front and without a fence around it all."""
    start = len(text) - len(text.lstrip())
    if text.startswith(MARKER, start):
        text = text[start + len(MARKER) :].lstrip(" \t")
        text = text[_break_length(text) :]
    return _without_fence(text)


def _without_fence(text: str) -> str:
    """What stands inside a fence that opens on the first line and closes on the last."""
    body = _without_blank_ends(text)
    if not body.startswith("```") or not body.rstrip().endswith("```"):
        return text
    lines = body.split("\n")
    open_fences: list[int] = []
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line) if line.startswith("```") else None
        if fence is None:
            if number == 0:
                return text
        elif fence[2] or number == 0:
            open_fences.append(len(fence[1]))
        elif open_fences and len(fence[1]) >= open_fences[-1]:
            open_fences.pop()
        if not open_fences and number < len(lines) - 1:
            # The fence is a part of the answer, which goes on after it.
            return text
    return text if open_fences else "\n".join(lines[1:-1])


logger = logging.getLogger(__name__)

_LONGEST = len(f"</{ANSWER_TAG}>")
_ENDING = re.compile(rf"\r?\n?(<[/a-z_]{{0,{_LONGEST}}})?\Z", re.IGNORECASE | re.ASCII)
"""What may still turn out to be no part of the answer: a line break before a tag, half a tag."""
_WRAPPINGS = (MARKER, "```")
"""What an answer may be wrapped in, beside its tag."""


class Listener:
    """Hands on the text of an observation while it is written.

    Only what stands inside of the answer's tag, never thinking and never a tag. It stops for good where
    the reply is not what it seemed to be: when the request is sent once more, and when thinking begins
    inside of the answer.
    """

    def __init__(self, on_delta: OnDelta, *, thinks: bool) -> None:
        """
        Args:
            thinks: Whether the model thinks. Then nothing is handed on before its thinking has ended:
                what looks like an answer may be quoted in it.
        """
        self._on_delta = on_delta
        self._thinks = thinks
        self._told = False
        self._done = False
        self._begin()

    def begin(self) -> None:
        """The request is sent, perhaps once more."""
        self._done = self._done or self._told
        self._begin()

    def _begin(self) -> None:
        self._pending = ""
        self._thinking = False
        self._thought = not self._thinks
        self._inside = False
        self._at_start = True
        self._opening = 0

    def hear(self, piece: str, *, thought: bool) -> None:
        """Takes a piece of the reply's content; `thought` when thinking came apart from it."""
        if self._done:
            return
        self._thought = self._thought or thought
        self._pending += piece
        while not self._done and (found := _TAG.search(self._pending)) is not None:
            before, self._pending = self._pending[: found.start()], self._pending[found.end() :]
            self._tag(before, closes=bool(found[1]), thinking=found[2].lower() == THINKING_TAG)
        if self._done:
            return
        if not self._inside:
            self._pending = self._pending[-_LONGEST:]
            return
        held = _ENDING.search(self._pending)
        end = held.start() if held else len(self._pending)
        text, self._pending = self._pending[:end], self._pending[end:]
        self._tell(text)

    def _tag(self, before: str, *, closes: bool, thinking: bool) -> None:
        if self._inside:
            self._tell(before, last=True)
            self._done = True
        elif thinking:
            self._thinking = not closes
            self._thought = self._thought or closes
        elif not closes and self._thought and not self._thinking:
            self._inside = True

    def _tell(self, text: str, *, last: bool = False) -> None:
        if self._at_start:
            # The line break after the tag is the tag's. What begins with a marker or a fence is
            # unwrapped in the end, and is better read then.
            opening = 2 if text.startswith("\r\n") else int(text.startswith("\n"))
            whole = text[opening:]
            begun = whole.lstrip()
            if not last and any(one != begun and one.startswith(begun) for one in _WRAPPINGS):
                self._pending = text + self._pending
                return
            if begun.startswith(_WRAPPINGS):
                self._done = True
                return
            self._at_start, self._opening, text = False, opening, whole
        if last:
            # So does the one before the tag that ends it.
            plain = self._opening == 1 or not text.endswith("\r\n")
            text = text.removesuffix("\n") if plain else text[:-2]
        if not text:
            return
        self._told = True
        try:
            self._on_delta(text)
        except Exception:
            # Whoever reads along has no say in what is answered.
            logger.warning("a reader of deltas failed, and gets no more", exc_info=True)
            self._done = True
