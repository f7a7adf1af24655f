"""Controls that are written outside of a scenario: in a file of their own, or for a world that runs already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, ValidationError

from agentworld_sim.scenario._sections import ControlSpec
from agentworld_sim.scenario._types import Strict


class _Controls(Strict):
    """A file of controls."""

    controls: tuple[ControlSpec, ...] = Field(strict=False)


def read_controls(
    written: str | Iterable[Mapping[str, Any] | str], *, source: str = "the controls"
) -> list[Mapping[str, Any]]:
    """Controls, checked, as a world's state declares them.

    Args:
        written: As a scenario writes them, or the text of a file with a key `controls`.
        source: Its name in messages.

    Raises:
        ScenarioError: one cannot be read; the message has every problem.
    """
    # YAML takes its time, and most worlds are never switched.
    from agentworld_sim.scenario._document import problems_error, problems_of, read_document

    if not isinstance(written, str):
        # What is not JSON, such as a function, is refused by its key.
        written = json.dumps({"controls": list(written)}, default=repr)
    document = read_document(written, source)
    problems = list(document.problems)
    try:
        read = _Controls.model_validate(document.value)
    except ValidationError as error:
        problems += problems_of(error, document, _Controls)
    else:
        if not problems:
            return [data for one in read.controls for data in one.to_data()]
    raise problems_error(source, problems)
