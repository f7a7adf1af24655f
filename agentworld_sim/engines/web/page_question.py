"""The question for one page, which nobody gave to the browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from agentworld_sim.checks import praise, pretence
from agentworld_sim.domains import domain
from agentworld_sim.engines.call_question import CallQuestion, closed_object
from agentworld_sim.engines.web.browser_state import WebPage, pages_in
from agentworld_sim.engines.web.requests import normal_url
from agentworld_sim.errors import ObservationRejected
from agentworld_sim.ports import Answer, ImaginedValue, StepContext, whole_answer
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.toolkits import known_tool
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn

PAGE_SCHEMA = closed_object(
    status={"type": "integer", "minimum": 100, "maximum": 599},
    url={"type": "string"},
    html={"type": "string"},
)
"""What the model says of a page."""

LOAD = "load_page"
"""The action that the model is asked about; the web's prompt explains it."""

WEB = domain("web")

TOOL = ToolSpec(
    name=LOAD,
    description="The page that a browser shows next.",
    input_schema={"type": "object", "properties": {}},
    output_schema=PAGE_SCHEMA,
    domain="web",
    binds_to="model/web",
)

Arrive = Callable[[WebPage | str], Answer]
"""What the browser answers when a page comes, or the browser's own error."""


@dataclass(frozen=True, kw_only=True)
class PageQuestion(CallQuestion):
    """Implements `Question`: which page comes?"""

    shown: tuple[ToolCall, ToolSpec, Arrive]
    """The call of the browser's tool that checks judge, and how it is answered with the page."""

    @classmethod
    async def of(
        cls,
        urls: Sequence[str],
        wanted: Mapping[str, Any],
        context: StepContext,
        shown: tuple[ToolCall, ToolSpec, Arrive],
        memory: dict[str, Any],
    ) -> PageQuestion:
        """The question for the page that comes of a request, or of a click that only a page's programs
        understand (`wanted`). `urls` are the pages of the tab so far."""
        loads = tuple(_as_loads(await context.history(), context.tools))

        async def page_loads() -> tuple[Turn, ...]:
            return loads

        return cls(
            call=ToolCall(LOAD, {**wanted, "history": list(urls)}),
            tool=TOOL,
            context=replace(context, history=page_loads, tools={LOAD: TOOL}),
            history=loads,
            memory=memory,
            shown=shown,
        )

    def read(self, text: str) -> Answer:
        answer = CallQuestion.read(self, text)
        read_page(answer.observation)
        return answer

    async def judge(self, imagined: ImaginedValue[Answer], context: StepContext) -> None:
        call, tool, _ = self.shown
        await context.judge(call, tool, self.to_answer(imagined))

    def load(self, answer: Mapping[str, Any]) -> Answer:
        loaded = CallQuestion.load(self, answer)
        try:
            read_page(loaded.observation)
        except ValueError as problem:
            raise ObservationRejected(
                f"no page came of the recorded answer: {problem} Nothing was changed."
            ) from None
        return loaded

    def to_answer(self, imagined: ImaginedValue[Answer]) -> Answer:
        """What the browser answers with the page."""
        page = read_page(imagined.value.observation)
        if isinstance(page, WebPage):
            page = replace(page, asked=self.call.arguments)
        return whole_answer(replace(imagined, value=self.shown[2](page)))


def _as_loads(history: Iterable[Turn], tools: Mapping[str, ToolSpec]) -> Iterator[Turn]:
    """The turns before, with those of the browser as what the model is asked about: each page that came,
    as the answer to its loading. What was only looked at is left out."""
    for turn in history:
        tool = tools.get(turn.call.name)
        known = tool and known_tool(tool.binds_to)
        if known is None or known.engine != "web":
            yield turn
            continue
        for page in pages_in(turn.change.values):
            if page.asked is not None and not page.asked:
                continue
            call = ToolCall(LOAD, page.asked or {"url": page.url})
            said = {"status": page.status, "url": page.url, "html": page.html}
            observation = Observation(text=json.dumps(said, ensure_ascii=False))
            yield replace(turn, call=call, action=WEB.action(call, TOOL), observation=observation)


def read_page(answer: Observation) -> WebPage | str:
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
            return WebPage(normal_url(fields["url"]), fields["status"], fields["html"])
    raise ValueError(_FORM)


_FORM = "the answer must be one JSON object with the keys status, url and html, and nothing else."
