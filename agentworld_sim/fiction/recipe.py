"""`FictionRecipe`: all that a fictional world follows from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Names = Literal["invented", "real"]
"""Whether things have names that exist nowhere, or such as an agent may know by heart: twins have the same rows
under both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionRecipe:
    """The same recipe gives the same world, on any machine; with real names, under the same release of Faker."""

    family: str
    seed: int = 0
    rows: int = 400
    names: Names = "invented"
    inconsistency: float = 0.0
    """The chance of a fact that one page says otherwise than the others."""
