"""Which model a server serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentworld_sim.errors import ModelRefused, nearest
from agentworld_sim.llm._posting import Posting
from agentworld_sim.llm._retry import Temporary
from agentworld_sim.llm._stream import Malformed, mapping
from agentworld_sim.llm.chat import ServedModel
from agentworld_sim.llm.refusals import Refusal
from agentworld_sim.llm.settings import MODEL_VARIABLE

NO_LIST = (404, 405)
"""What servers without a list of models answer."""

CONTEXT = ("max_model_len", "context_length", "max_context_length", "context_window")
"""What vLLM and SGLang, hosted services and LM Studio call the context's length."""


async def served_model(posting: Posting, wanted: str) -> ServedModel:
    """The model of this name, or the only one.

    Raises:
        Temporary: trying again may help.
        ModelFailure: it would not.
    """
    found, refusal = await _listing(posting)
    if refusal is not None:
        if refusal.status not in NO_LIST:
            raise posting.failures.refused(refusal)
        hint = await posting.where_it_answers()
        if hint or not wanted:
            raise posting.failures.missing(refusal.status, refusal.message, hint)
        return ServedModel(wanted, None)
    models = models_in(found)
    if wanted in models:
        return ServedModel(wanted, models[wanted])
    if not wanted and len(models) == 1:
        return ServedModel(*models.popitem())
    raise wrong_name(posting, wanted, list(models))


async def names_served(posting: Posting) -> list[str] | None:
    """The names a server lists, for a message; `None` when it lists none."""
    try:
        found = await posting.listing()
    except (Temporary, Malformed):
        return None
    return None if isinstance(found, Refusal) else list(models_in(found)) or None


def wrong_name(posting: Posting, wanted: str, names: list[str]) -> ModelRefused:
    """The error that lists what there is."""
    listed = ", ".join(repr(name) for name in names[:20]) or "nothing"
    if len(names) > 20:
        listed = f"{listed} and {len(names) - 20} more"
    what = "does not serve that model." if wanted else "serves several models."
    if not names:
        what = "serves no model yet." if not wanted else what
    return ModelRefused(
        f"{posting.failures.place} {what}{nearest(wanted, names)} It serves {listed}. Set"
        f" {MODEL_VARIABLE} to one of them."
    )


async def _listing(posting: Posting) -> tuple[Any, Refusal | None]:
    try:
        found = await posting.listing()
    except Malformed as error:
        what = str(error)
    else:
        return (None, found) if isinstance(found, Refusal) else (found, None)
    hint = await posting.where_it_answers()
    raise posting.failures.nonsense(f"sends {what} for its list of models", hint)


def models_in(listing: object) -> dict[str, int | None]:
    """The names in a list of models, each with its context length when that is told."""
    entries: object = mapping(listing).get("data")
    if not isinstance(entries, list):
        return {}
    models = [mapping(entry) for entry in cast(list[object], entries)]
    return {str(model["id"]): _context(model) for model in models if model.get("id")}


def _context(model: Mapping[str, Any]) -> int | None:
    told = (model.get(name) for name in CONTEXT)
    return next((tokens for tokens in told if isinstance(tokens, int)), None)
