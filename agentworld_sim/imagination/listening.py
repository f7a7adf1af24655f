"""Reading along while a model writes an observation."""

from __future__ import annotations

import logging
import re

from agentworld_sim.imagination.parsing import ANSWER_TAG, MARKER, THINKING_TAG
from agentworld_sim.ports import OnDelta

logger = logging.getLogger(__name__)

_TAG = re.compile(rf"<(/?)({THINKING_TAG}|{ANSWER_TAG})>", re.IGNORECASE | re.ASCII)
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
            on_delta: Who listens.
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
