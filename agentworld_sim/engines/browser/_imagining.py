"""Asks the engine that imagines for one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from agentworld_sim.checks import praise, pretence
from agentworld_sim.domains import domain
from agentworld_sim.engines.browser._clicks import Way
from agentworld_sim.engines.browser.history import Page, normal_url, visits_in
from agentworld_sim.errors import ObservationRejected
from agentworld_sim.ports import EngineSession, RefusedAnswer, TurnContext
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.toolkits import known_tool
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Provenance, Turn

PAGE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "integer", "minimum": 100, "maximum": 599},
        "url": {"type": "string"},
        "html": {"type": "string"},
    },
    "required": ["status", "url", "html"],
    "additionalProperties": False,
}
"""What the model says of a page."""

LOAD = "load_page"
"""The action that the model is asked about; the web's prompt explains it."""


@dataclass(frozen=True, slots=True)
class Question:
    """Which page comes?"""

    history: Sequence[str]
    """URLs of the tab, oldest first; the last is where the browser is."""
    way: Way | None = None
    """The request that is made; `None` when a click does what only the page's programs know."""
    selector: str = ""
    element: str = ""
    """The element that is clicked on."""

    @property
    def call(self) -> ToolCall:
        arguments: dict[str, Any] = {}
        if self.way is not None:
            arguments = {"url": self.way.url}
            if self.way.method != "GET":
                arguments |= {"method": self.way.method, "fields": dict(self.way.fields)}
        else:
            arguments = {"click": self.selector, "element": self.element}
        return ToolCall(LOAD, {**arguments, "history": list(self.history)})


WEB = domain("web")

TOOL = ToolSpec(
    name=LOAD,
    description="The page that a browser shows next.",
    input_schema={"type": "object", "properties": {}},
    output_schema=PAGE_SCHEMA,
    domain="web",
    binds_to="model/web",
)


class PageImaginer:
    """Gets pages of an engine's session."""

    def __init__(self, session: EngineSession, *, tries: int) -> None:
        self._session = session
        self._tries = tries
        self.provenance: Provenance = "imagined"
        """Of the latest page."""

    async def page(
        self, question: Question, context: TurnContext
    ) -> tuple[Page | str, tuple[Exchange, ...]]:
        """The page, or the browser's own error; and what a model was asked for it.

        Raises:
            ObservationRejected: no answer had the form of a page.
        """
        exchanges: tuple[Exchange, ...] = ()
        reason = ""

        async def pages() -> tuple[Turn, ...]:
            return tuple(_as_loads(await given.history(), given.tools))

        given, context = context, replace(context, history=pages, tools={LOAD: TOOL})
        for _ in range(self._tries):
            answer = await self._session.answer(question.call, TOOL, context)
            self.provenance = answer.observation.provenance
            try:
                page = read_page(answer.observation)
            except ValueError as problem:
                reason = str(problem)
                refused = RefusedAnswer(answer.observation, (reason,))
                context = replace(context, refused=(*context.refused, refused))
                exchanges += (
                    *answer.exchanges[:-1],
                    *(replace(one, problem=reason) for one in answer.exchanges[-1:]),
                )
                continue
            if isinstance(page, Page):
                page = replace(page, asked=question.call.arguments)
            return page, exchanges + answer.exchanges
        rejected = ObservationRejected(
            f"no page came of {self._tries} answers. The last one: {reason} Nothing was changed."
        )
        rejected.exchanges = exchanges
        raise rejected


def _as_loads(history: Iterable[Turn], tools: Mapping[str, ToolSpec]) -> Iterator[Turn]:
    """The turns before, with those of the browser as what the model is asked about: each page that came,
    as the answer to its loading. What was only looked at is left out."""
    for turn in history:
        tool = tools.get(turn.call.name)
        known = tool and known_tool(tool.binds_to)
        if known is None or known.engine != "browser":
            yield turn
            continue
        for page in visits_in(turn.change.values):
            if page.asked is not None and not page.asked:
                continue
            call = ToolCall(LOAD, page.asked or {"url": page.url})
            said = {"status": page.status, "url": page.url, "html": page.html}
            observation = Observation(text=json.dumps(said, ensure_ascii=False))
            yield replace(turn, call=call, action=WEB.action(call, TOOL), observation=observation)


def read_page(answer: Observation) -> Page | str:
    """The page that was imagined, or the error that the browser shows instead.

    Raises:
        ValueError: it is neither.
    """
    try:
        value: object = json.loads(answer.text)
    except ValueError:
        raise ValueError(_FORM) from None
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if fields.get("isError") is True:
            content = cast("list[dict[str, Any]]", fields.get("content") or [])
            return " ".join(str(one.get("text", "")) for one in content) or "net::ERR_FAILED"
        if schema_problem(PAGE_SCHEMA, fields) is None:
            # What the agent reads of the page later is not judged again.
            problem = pretence(fields["html"], str) or praise(fields["html"], str)
            if problem:
                raise ValueError(problem)
            return Page(normal_url(fields["url"]), fields["status"], fields["html"])
    raise ValueError(_FORM)


_FORM = "the answer must be one JSON object with the keys status, url and html, and nothing else."
