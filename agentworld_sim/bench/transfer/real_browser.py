"""A real browser: Chromium by Playwright, on the same pages, led through a proxy that reaches nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Any

from agentworld_sim.assembly import internet_of
from agentworld_sim.bench.transfer.places import PlaceAnswer, page_answer
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.errors import UsageError
from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import PageGoal
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.web_proxy import WorldInternet, web_proxy
from agentworld_sim.world import World

SECONDS = 10


class RealBrowser:
    """Implements `Place`. What answers the requests is a world of its own, in which nobody but Chromium asks."""

    def __init__(self, world: World, page: Any, stack: AsyncExitStack) -> None:
        self._world, self._page, self._stack = world, page, stack

    @classmethod
    async def open(cls, task: TransferTask, browser: Any) -> RealBrowser:
        async with AsyncExitStack() as stack:
            world = await World.create(task.scenario, store=MemoryStore(), model=False)
            stack.push_async_callback(world.close)
            internet = internet_of(world.scenario)
            assert internet is not None
            url = await stack.enter_async_context(
                web_proxy(WorldInternet(world, internet).answer, port=0)
            )
            context = await browser.new_context(proxy={"server": url})
            stack.push_async_callback(context.close)
            context.set_default_timeout(SECONDS * 1000)
            return cls(world, await context.new_page(), stack.pop_all())

    def tables(self) -> dict[str, Any]:
        """What a site keeps is not seen from a browser."""
        return {}

    async def call(self, call: ToolCall) -> PlaceAnswer:
        page, said = self._page, call.arguments
        element = page.locator(f"aria-ref={said.get('target', '')}")
        try:
            match call.name:
                case "browser_navigate":
                    await page.goto(said["url"])
                case "browser_snapshot":
                    pass
                case "browser_click":
                    await element.click()
                case "browser_type":
                    await element.fill(said["text"])
                case "browser_select_option":
                    await element.select_option(said["values"])
                case _:
                    raise UsageError(f"{call.name!r} is not replayed in a real browser.")
            await page.wait_for_load_state()
            return page_answer(page.url, await page.aria_snapshot(mode="ai"))
        except _playwright().Error as error:
            return PlaceAnswer(f"Error: {error}", "error")

    async def problems(self, finished: bool) -> list[str]:
        found: list[str] = []
        for goal, one in zip(
            self._world.scenario.goals, await check_goals(self._world), strict=True
        ):
            met, reason = one.met, one.reason
            if isinstance(goal, PageGoal):
                text = " ".join((await self._page.inner_text("body")).split())
                met = self._page.url == goal.page and (goal.contains or "") in text
                reason = f"the browser shows {self._page.url}: {text[:100]}"
            if not met:
                found.append(f"{one.goal}: {reason}")
        return found

    async def close(self) -> None:
        await self._stack.aclose()


def _playwright() -> Any:
    try:
        return import_module("playwright.async_api")
    except ImportError:
        raise UsageError(
            "tasks of the kind 'web' are replayed in Chromium, driven by Playwright, which is not installed."
            " Install it with `pip install playwright`, or name --only shell or mcp."
        ) from None


@asynccontextmanager
async def real_browser() -> AsyncGenerator[Any]:
    """Chromium, for all tasks.

    Raises:
        UsageError: Playwright or the browser is not installed.
    """
    api = _playwright()
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    # As root, as in a container, Chromium refuses to start with its sandbox.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with api.async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=program, args=options)
        except api.Error as error:
            said = str(error).partition("\n")[0]
            raise UsageError(f"Chromium cannot be started; name one in CHROMIUM. {said}") from None
        try:
            yield browser
        finally:
            await browser.close()
