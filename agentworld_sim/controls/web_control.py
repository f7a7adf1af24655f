"""What the kinds have in common that make the web less clean: they set a condition that the search engine obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.toolkits import arguments_of
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.tools import DomainName, ToolCall

_QUERIES = frozenset("query queries q search_query search_term keywords question".split())
"""Names that the argument has with which a tool searches."""


class WebControl(SelectiveControl):
    """Changes what the search engine computes; what a model imagines stays as it is."""

    only_in: ClassVar[tuple[DomainName, ...]] = ("search",)

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        """What is wrong for this call, as `agentworld_sim.engines.search.web_dirt` reads it; `None` if nothing is."""
        shared = {field.name for field in fields(SelectiveControl)}
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in shared}
        return {"kind": type(self).__name__, **own}

    async def strike(self, step: StepContext, next: Next) -> Answer:
        dirt = await self.dirt(step)
        if dirt is None:
            return await next(step)
        held = Conditions.of(step.state.values).web
        answer = await next(step.under(Conditions(web=(*held, dirt))))
        # The same answer as another object counts as struck.
        return replace(answer) if answer.observation.provenance == "computed" else answer


@dataclass(frozen=True, kw_only=True)
class PageControl(WebControl):
    """Strikes some of the pages that are opened, the same ones always."""

    lowest: ClassVar[Mapping[str, float]] = {"share": 0}

    share: float = 0.2
    """How many of all pages, as a part of 1. A page that it strikes once is struck whenever it is opened."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise self.refusal("share", self.share, "give more than 0 and at most 1")

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        names = f"{step.state.seed}/{self.name}"
        struck = [one for one in _addresses(step) if Random(f"{names}/{one}").random() < self.share]
        dirt = await super().dirt(step) or {}
        return {**dirt, "addresses": struck, "seed": step.state.seed} if struck else None


class ResultControl(WebControl):
    """Strikes searches, and counts no other calls."""

    def selects_arguments(self, call: ToolCall) -> bool:
        names = call.arguments.keys()
        searches = bool(names & _QUERIES) and "urls" not in names
        return searches and super().selects_arguments(call)


def _addresses(step: StepContext) -> list[str]:
    """Of the pages that a call opens."""
    from agentworld_sim.engines.search import address_of

    given = arguments_of(step.tool.binds_to, step.call.arguments)
    return [
        address_of(url)
        for url in (*given.get("urls", ()), *([given["url"]] if "url" in given else ()))
    ]
