"""Controls that are written outside of a scenario: in a file of their own, or for a world that runs already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agentworld_sim.errors import ScenarioError
from agentworld_sim.scenario._sections import ControlSpec
from agentworld_sim.scenario._types import Strict

T = TypeVar("T", bound=BaseModel)


class _Controls(Strict):
    """A file of controls."""

    controls: tuple[ControlSpec, ...] = Field(strict=False)


def read_controls(
    written: Path | Mapping[str, Any] | str | Iterable[Mapping[str, Any] | str],
) -> list[Mapping[str, Any]]:
    """Controls, checked, as a world's state declares them.

    Args:
        written: One or several as a scenario writes them, or a file with a key `controls`.

    Raises:
        ScenarioError: one cannot be read; the message has every problem.
    """
    if isinstance(written, Path):
        read = read_yaml(written, _Controls)
    else:
        # What is not JSON, such as a function, is refused by its key.
        several: Any = [written] if isinstance(written, Mapping | str) else [*written]
        text = json.dumps({"controls": several}, default=repr)
        read = _read_text(text, "the controls", _Controls)
    return [data for one in read.controls for data in one.to_data()]


def read_yaml(path: Path, model: type[T]) -> T:
    """A YAML or JSON file, as `model` describes it.

    Raises:
        ScenarioError: it cannot be read; the message has every problem, with line and column.
    """
    from agentworld_sim.scenario._document import source_text

    try:
        return _read_text(source_text(path.read_bytes(), str(path)), str(path), model)
    except OSError as error:
        raise ScenarioError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def _read_text(text: str, source: str, model: type[T]) -> T:
    # YAML takes its time, and most worlds are never switched.
    from agentworld_sim.scenario._document import problems_error, problems_of, read_document

    document = read_document(text, source)
    problems = list(document.problems)
    try:
        read = model.model_validate(document.value)
    except ValidationError as error:
        problems += problems_of(error, document, model)
    else:
        if not problems:
            return read
    raise problems_error(source, problems)
