"""The error model.

Whatever goes wrong belongs to one of three parties, and the tree is split by who must act:

* **The user** named something that does not exist or wrote something invalid: `UsageError` and below.
  The message says what was asked, what exists, the nearest match and the next step.
* **The world** could not do its work (a store that is corrupt, a disk that is full, a model that is
  down): `WorldFailure` and below. It is raised, and never becomes an observation: an agent must not
  learn from our failures.
* **Access** said no: `AccessRefused`. Unknown means refuse.

What the *simulated* system would say (a missing file, a failed command) is none of these: it is an
ordinary `Observation`, with `is_error` where the real tool would set it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class AgentworldError(Exception):
    """Base of every error this library raises on purpose."""

    exit_code: int = 1
    """What the `agentworld` command exits with."""

    exchanges: tuple[Any, ...] = ()
    """What a model was asked and said in the step that failed, if one was: an `Exchange` each, which is
    above this module. The world keeps them beside its history."""


class UsageError(AgentworldError):
    """The user's mistake; nothing was changed."""

    exit_code = 2


class ScenarioError(UsageError):
    """A scenario file is missing, unreadable or invalid."""


class ArgumentsError(UsageError):
    """A call's arguments do not fit the tool's input schema. Where the real tool would tell the
    agent so, the adapter turns this into that tool's own error text."""


class UnknownToolError(UsageError):
    """A call names a tool the world does not have."""


class UnknownWorldError(UsageError):
    """No world, or no ref of it, has that id."""


class AccessRefused(AgentworldError):
    """A tool binds to nothing, or access says `refuse`. No call was made, real or simulated."""

    exit_code = 3


class CannotCompute(AccessRefused):
    """An engine that computes cannot answer this very call, and nothing imagines it."""


class WorldFailure(AgentworldError):
    """The world could not do its work; the step left no trace."""

    exit_code = 4


class HeadMoved(WorldFailure):
    """Another step committed first: `step(at=ref)` found the head elsewhere."""


class StoreError(WorldFailure):
    """The store is corrupt, locked, full or from a newer version; what it holds is intact."""


class EngineFailure(WorldFailure):
    """An engine broke: not an answer of the simulated system, but ours that is missing."""


class ControlFailure(EngineFailure):
    """A control raised, or asked for something that there is not; its message names it."""


class ModelFailure(EngineFailure):
    """The language world model gave no answer that can be used."""


class ModelUnavailable(ModelFailure):
    """The model server cannot be reached, does not answer, or broke off."""


class ModelRefused(ModelFailure):
    """The model server refuses the request: the key, the model's name, a parameter, the length."""


class ContextOverflow(ModelRefused):
    """The request does not fit into the model's context."""

    limit: int | None = None
    """Most tokens of prompt and reply together, when the server says."""
    asked: int | None = None
    """Tokens the request would take, as far as the server says: often without the reply, and often
    only a lower bound."""


class UnusableReply(ModelFailure):
    """The model answered, also when asked again, and no answer was one."""


class BudgetSpent(ModelFailure):
    """The world has used all the tokens it was given."""


class ObservationRejected(WorldFailure):
    """Checks refused every answer an engine gave."""

    reasons: tuple[str, ...] = ()
    """Of the checks that refused the last one, each with the check's name."""
    rewritable: bool = False
    """Whether a rule can mend it: it does not keep to a control, and all else about it is right."""


def nearest(wanted: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or an empty string when nothing known is near."""
    match = get_close_matches(wanted, list(known), n=1)
    return f" Did you mean {match[0]!r}?" if match else ""
