"""`WebEngine`: browsers, computed; pages that nobody gave and no site has are imagined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentworld_sim.engines.web.browser_state import BrowserState, WebPage
from agentworld_sim.engines.web.browser_turn import TURN_US, BrowserTurn
from agentworld_sim.engines.web.http_turn import http_answer
from agentworld_sim.engines.web.langchain_tools import LangChainCall
from agentworld_sim.engines.web.page_loading import PageLoader, PageNeeded, WorldFiles
from agentworld_sim.engines.web.page_question import PageQuestion
from agentworld_sim.engines.web.playwright_answers import Dialect
from agentworld_sim.engines.web.playwright_tools import PlaywrightCall
from agentworld_sim.engines.web.requests import Internet
from agentworld_sim.engines.web.tab_page import PagesRead
from agentworld_sim.errors import EngineFailure
from agentworld_sim.ports import Answer, Imaginer, StepContext
from agentworld_sim.toolkits import (
    KnownTool,
    arguments_of,
    bind_to,
    binding_for,
    known_tool,
    unknown_to,
)
from agentworld_sim.toolkits.playwright import NEWER, OLDER, UNCOMPUTED, is_older
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec

_DIALECTS = {NEWER: Dialect("target"), OLDER: Dialect("ref")}


class WebEngine:
    """Implements `Engine` and `BindsTogether` for the tools of Playwright's MCP server, and for those of
    LangChain's toolkit for Playwright. They share one browser, which is part of the world's state."""

    name = "web"
    route: Literal["compute"] = "compute"

    def __init__(
        self,
        imaginer: Imaginer | None = None,
        internet: Internet | None = None,
        *,
        workspace: str = "/",
    ) -> None:
        """
        Args:
            imaginer: Imagines the pages that are neither given nor those of a site, if there is one.
            internet: The sites of the world, if it has any.
            workspace: The working directory of the machine, where snapshots and downloads are put.
        """
        self._imaginer, self._internet, self._workspace = imaginer, internet, workspace

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        if tool.binds_to is None and self._imaginer is None and self._internet is None:
            return None
        return bind_to(tool, self.name)

    def binder(self, among: Sequence[ToolSpec]) -> Callable[[ToolSpec], ToolSpec | None]:
        older = any(is_older(tool) for tool in among)

        def bind(tool: ToolSpec) -> ToolSpec | None:
            bound = self.bind(tool)
            name = f"{OLDER}/{tool.name.rpartition('__')[2]}"
            if bound is None or not older or tool.binds_to is not None or not known_tool(name):
                return bound
            # What both generations have is that of the others.
            return replace(bound, binds_to=name)

        return bind

    def refusal(self, tool: ToolSpec) -> str:
        if tool.name.rpartition("__")[2] in UNCOMPUTED:
            return (
                f"{tool.name!r} runs or draws what only a real browser has. A language world model imagines"
                " its answers (AGENTWORLD_MODEL_URL, or model=…)."
            )
        found = binding_for(tool)
        if found is not None and found.engine == self.name:
            return (
                f"The browser has no pages to show: {tool.name!r} needs a language world model"
                " (AGENTWORLD_MODEL_URL, or model=…), sites, or pages that are given to it."
            )
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> WebSession:
        return WebSession(self._imaginer, self._internet, self._workspace)


class WebSession:
    """Implements `EngineSession`. An answer follows from the state, and from what is imagined."""

    def __init__(
        self, imaginer: Imaginer | None, internet: Internet | None, workspace: str
    ) -> None:
        self._imaginer, self._internet, self._workspace = imaginer, internet, workspace
        self._memory: dict[str, Any] = {}
        self._read: PagesRead = {}

    async def answer(self, context: StepContext) -> Answer:
        found = known_tool(context.tool.binds_to)
        if found is None:
            raise EngineFailure(
                f"the browser was given {context.tool.name!r}, which it cannot answer"
            )
        if found.toolkit == "http":
            return http_answer(self._internet, context.state, context.call.arguments)
        try:
            return self._compute(found, context, None)
        except PageNeeded as needed:
            assert self._imaginer is not None
            wanted, imaginer = needed.wanted, self._imaginer
        browser = BrowserState(context.state.values)
        tab = browser.tab if found.toolkit in _DIALECTS else browser.newest
        question = await PageQuestion.of(
            browser.urls(tab),
            wanted,
            context,
            (
                context.call,
                context.tool,
                lambda page: self._compute(found, context, (wanted, page)),
            ),
            self._memory,
        )
        return question.to_answer(await imaginer.ask(question, question.context))

    def close(self) -> None:
        pass

    def _compute(
        self,
        found: KnownTool,
        context: StepContext,
        known: tuple[Mapping[str, Any], WebPage | str] | None,
    ) -> Answer:
        """The answer, given the page that was imagined for it. Raises `PageNeeded` where that is missing."""

        def page_for(wanted: Mapping[str, Any]) -> WebPage | str:
            if known is None:
                raise PageNeeded(wanted)
            return known[1] if wanted == known[0] else "net::ERR_FAILED"

        state, browser = context.state, BrowserState(context.state.values)
        # Given back with the answer: what a failed call did to these pages is not kept.
        read, self._read = self._read, {}
        loader = PageLoader(browser, state, self._internet, page_for if self._imaginer else None)
        files = WorldFiles(state, context.blobs, {})
        dialect = _DIALECTS.get(found.toolkit)
        turn = BrowserTurn(
            browser,
            loader,
            files,
            self._workspace,
            state.clock_us + TURN_US,
            read,
            distilled=dialect is None or dialect.is_newer,
        )
        arguments = arguments_of(context.tool.binds_to, context.call.arguments)
        if dialect is None:
            answer = LangChainCall(turn).answer(found.name, arguments)
        else:
            answer = PlaywrightCall(turn, dialect).answer(found.name, arguments)
        self._read = read
        return answer
