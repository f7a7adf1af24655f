"""Answers that a scenario gives to tools, instead of what would compute or imagine them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import JsonValue, model_serializer, model_validator

from agentworld_sim.scenario._types import Strict, mismatch


class AnswerSpec(Strict):
    """What a tool answers, whatever it is called with. A text alone is `text`."""

    text: str = ""
    """The text that the agent reads."""
    value: JsonValue = None
    """A JSON value, which the agent reads as JSON."""
    error: str = ""
    """The tool fails with this."""
    function: str = ""
    """The function that was given to `World.create(answers=…)`, for the record: it must be given again."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"text": given}
        if isinstance(given, AnswerSpec):
            return given
        if not isinstance(given, Mapping) or len(cast("Mapping[str, Any]", given)) != 1:
            raise mismatch("a text, or a mapping with one of the keys text, value and error")
        return cast("Mapping[str, Any]", given)

    @model_serializer
    def data(self) -> dict[str, Any]:
        """The one key that was given."""
        return {name: getattr(self, name) for name in self.model_fields_set}


__all__ = ["AnswerSpec"]
