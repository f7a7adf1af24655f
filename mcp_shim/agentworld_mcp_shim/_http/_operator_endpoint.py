"""Switching controls over HTTP, beside the clients: `/operator/worlds` and `/operator/worlds/ID`, for who has a token of
an operator. No client's token opens it, and no tool listing names it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import JSONResponse

from agentworld_sim.controls.control_list import declarations_of
from agentworld_sim.errors import AgentworldError, UnknownWorldError, UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._http._tokens import Tokens
    from agentworld_mcp_shim._pool import WorldPool

PREFIX = "/operator/"

_WORLDS = f"{PREFIX}worlds"


class OperatorEndpoint:
    """Answers operators."""

    def __init__(self, pool: WorldPool, tokens: Tokens) -> None:
        self._pool = pool
        self._tokens = tokens

    def knows(self, authorization: str | None) -> bool:
        """Whether an `Authorization` header has an operator's token."""
        return self._tokens.principal(authorization) is not None

    async def respond(self, method: str, path: str, body: bytes) -> JSONResponse:
        """The response to one request: what worlds there are, what a world declares, or what it declares after
        controls were switched (`{"add": […], "remove": […]}`)."""
        place, _, world_id = path.removeprefix(_WORLDS).partition("/")
        if place or not path.startswith(_WORLDS):
            return _error(404, f"nothing is served here. Worlds are at {_WORLDS}.")
        if method not in (("GET", "POST") if world_id else ("GET",)):
            return _error(405, f"{method} means nothing here.")
        try:
            if not world_id:
                found = await self._pool.records()
                return JSONResponse(
                    {"worlds": [{"world": one.id, "turns": one.turns} for one in found]}
                )
            changes = _changes(body) if method == "POST" else {}
            world = await self._pool.find(world_id)
            if changes:
                await world.switch_controls(**changes)
            ref = (await asyncio.to_thread(world.store.world, world_id)).head
            controls = list(declarations_of(await world.state(ref)))
            return JSONResponse({"world": world_id, "ref": ref, "controls": controls})
        except UnknownWorldError as error:
            return _error(404, str(error))
        except UsageError as error:
            return _error(400, str(error))
        except AgentworldError as error:
            return _error(503, str(error))


def _changes(body: bytes) -> dict[str, list[Any]]:
    try:
        given: object = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    changes = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if not changes or not all(
        name in ("add", "remove") and isinstance(value, list) for name, value in changes.items()
    ):
        raise UsageError(
            'the body says what to switch: {"add": [{"kind": "fault", …}], "remove": ["NAME"]}, either or'
            " both."
        )
    return changes


def _error(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)
