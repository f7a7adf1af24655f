"""What a new world is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from agentworld_sim.ports import Check, Control, Engine, WorldImaginer, WorldStore
from agentworld_sim.types.tools import Access


class NewWorldOptions(TypedDict, total=False):
    """The options of `World.create`; it says what each is."""

    id: str | None
    store: WorldStore | None
    seed: int | None
    engines: Sequence[Engine] | None
    model: WorldImaginer | str | Literal[False] | None
    checks: Sequence[Check]
    controls: Sequence[Control | str]
    access: Mapping[str, Access] | None
    answers: Mapping[str, object] | None
