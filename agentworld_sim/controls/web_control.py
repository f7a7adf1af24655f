"""What the kinds have in common that make the web less clean: they set a condition that the search engine obeys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, cast

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.tools import DomainName


class WebControl(SelectiveControl):
    """Changes what the search engine computes; what a model imagines stays as it is."""

    only_in: ClassVar[tuple[DomainName, ...]] = ("search",)

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        """What is wrong for this call, as `agentworld_sim.engines.search.web_dirt` reads it; `None` if nothing is."""
        raise NotImplementedError

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

    def page_dirt(self) -> Mapping[str, Any]:
        """What is wrong with such a page."""
        raise NotImplementedError

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        struck = [url for url in _urls(step.call.arguments.values()) if self._is_struck(step, url)]
        where = {"urls": struck, "seed": step.state.seed}
        return {**self.page_dirt(), **where} if struck else None

    def _is_struck(self, step: StepContext, url: str) -> bool:
        from agentworld_sim.engines.search import original_url

        names = f"{step.state.seed}/{self.name}/{original_url(url)}"
        return Random(names).random() < self.share


class ResultControl(WebControl):
    """Strikes searches."""

    def result_dirt(self) -> Mapping[str, Any]:
        """What is wrong with the results."""
        raise NotImplementedError

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        searches = not _urls(step.call.arguments.values())
        return self.result_dirt() if searches else None


def _urls(values: Iterable[Any]) -> list[str]:
    """The addresses among a call's arguments, and in lists of them."""
    listed = (cast("list[Any]", one) if isinstance(one, list) else [one] for one in values)
    return [one for some in listed for one in some if isinstance(one, str) and "://" in one]
