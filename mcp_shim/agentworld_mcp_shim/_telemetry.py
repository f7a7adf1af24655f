"""What is told about a call: to spans that others make, and to metrics. Never what was asked or said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from agentworld_mcp_shim._answers import SIMULATED

Outcome = Literal["ok", "error", "refused", "failed", "cancelled"]

_ROUTES = {"computed": "compute", "imagined": "imagine"}


@dataclass(frozen=True, slots=True)
class Told:
    """What the result of a call says about itself."""

    provenance: str
    outcome: Outcome
    world: str = ""


def told(result: Any) -> Told:
    """Reads the marks of a `tools/call` result, ours or an upstream's."""
    if isinstance(result, Mapping):
        # An upstream's, as it came: it does not say of itself what it is.
        failed = cast("Mapping[str, Any]", result).get("isError") is True
        return Told("real", "error" if failed else "ok")
    meta, is_error = getattr(result, "meta", None), getattr(result, "is_error", False)
    marks = cast("Mapping[str, Any]", meta or {}).get(SIMULATED)
    if not isinstance(marks, Mapping):
        return Told("real", "error" if is_error else "ok")
    ours = cast("Mapping[str, Any]", marks)
    provenance = str(ours.get("provenance", "none"))
    refused = ours.get("access") == "refuse"
    outcome: Outcome = "refused" if refused else "error" if is_error else "ok"
    return Told(provenance, outcome, str(ours.get("world", "")))


def without_marks(result: Any) -> Any:
    """An upstream's result without what only our own results say: that they are simulated."""
    meta: object = result.get("_meta")
    if not isinstance(meta, dict) or SIMULATED not in meta:
        return result
    kept = {key: one for key, one in cast("dict[str, Any]", meta).items() if key != SIMULATED}
    return {**result, "_meta": kept}


def mark_span(said: Told) -> None:
    """Adds to the span of the request, which the SDK's server makes, where its answer came from."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    if not span.is_recording():
        return
    span.set_attribute("agentworld.provenance", said.provenance)
    if said.world:
        span.set_attribute("agentworld.world", said.world)
    if said.provenance in _ROUTES:
        span.set_attribute("agentworld.route", _ROUTES[said.provenance])
