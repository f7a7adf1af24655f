"""Tools for any agent framework, and for none: a `ToolSpec` and an async callable.

Frameworks that know neither LangChain nor MCP take a schema and a function. A `BoundTool` is both. What an
agent got wrong (arguments that are no JSON or do not fit the schema) is a text that it reads; what we
cannot do is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.errors import AccessRefused, ArgumentsError, UsageError, nearest
from agentworld_sim.supports_world import HoldsWorld, world_in
from agentworld_sim.toolkits.tool_specs import chat_tool, field_of, spec_of
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation
from agentworld_sim.world import World

__all__ = ["BoundTool", "bind", "openai_answers", "openai_tools"]


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool of a world, ready to be called."""

    spec: ToolSpec
    """As bound in the world."""
    world: World

    async def __call__(self, arguments: Mapping[str, Any] | str = "{}", /, *, id: str = "") -> str:
        """Answers one call with the text the agent reads, also when its arguments are wrong.

        Args:
            arguments: As an object, or as the JSON text that models write.
            id: The call's id, if there is one.

        Raises:
            AccessRefused: the call may not be answered, or cannot be computed and nothing imagines it.
            WorldFailure: no answer. The world is as it was.
        """
        try:
            return (await self.observe(arguments, id=id)).text
        except ArgumentsError as error:
            return f"Error: {error}"

    async def observe(
        self, arguments: Mapping[str, Any] | str = "{}", /, *, id: str = ""
    ) -> Observation:
        """The same, with all that is known of the answer.

        Raises:
            ArgumentsError: the arguments are no JSON object, or do not fit the schema.
            AccessRefused: as for a call.
            WorldFailure: as for a call.
        """
        given = _read(arguments, self.spec.name) if isinstance(arguments, str) else dict(arguments)
        return (await self.world.step(ToolCall(self.spec.name, given, id))).observation


def bind(
    world: World | HoldsWorld,
    tools: Iterable[ToolSpec | Callable[..., Any] | Mapping[str, Any]] | None = None,
) -> list[BoundTool]:
    """Binds tools to a world. Real tools are never called.

    Args:
        world: What answers.
        tools: The tools: functions, whose signature and docstring say what they take; the objects that
            are sent to a model as `tools` (of OpenAI, Anthropic or MCP); or specs. By default those that
            the world has already and answers.

    Raises:
        AccessRefused: some bind to nothing. All are named, each with its reason.
        UsageError: it cannot be told what a tool takes, or two have one name.
    """
    held = world_in(world)
    if tools is None:
        return [BoundTool(one, held) for one in held.tools.values() if one.access == "simulate"]
    specs = [spec_of(tool) for tool in tools]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{names.count(name)} of the tools are named {name!r}. Rename all but one."
            )
    before = held.tools
    bound = held.add_tools(specs)
    refused = [spec.name for spec in bound if spec.access != "simulate"]
    if refused:
        reasons = [held.refusal(name) for name in refused]
        held.add_tools(before[name] for name in names if name in before)
        raise AccessRefused("\n".join(reasons))
    return [BoundTool(spec, held) for spec in bound]


def openai_tools(bound: Iterable[BoundTool]) -> list[dict[str, Any]]:
    """The tools as the chat completions of OpenAI and of compatible servers take them: `tools=…`."""
    return [chat_tool(tool.spec) for tool in bound]


async def openai_answers(
    bound: Sequence[BoundTool], calls: Iterable[Any] | None
) -> list[dict[str, Any]]:
    """Answers the calls of one message, one after another, with the messages that go back to the model.

    Args:
        calls: `message.tool_calls` of a chat completion; or the items of the type `function_call` of a
            response. Items of other types are left alone.

    Raises:
        AccessRefused: as for `BoundTool`.
        WorldFailure: as for `BoundTool`.
    """
    known = {tool.spec.name: tool for tool in bound}
    messages: list[dict[str, Any]] = []
    for call in calls or ():
        kind: str = field_of(call, "type")
        if kind not in ("function", "function_call"):
            continue
        inside: Any = call if kind == "function_call" else field_of(call, "function")
        name: str = field_of(inside, "name")
        id: str = field_of(call, "call_id" if kind == "function_call" else "id")
        if name in known:
            text = await known[name](str(field_of(inside, "arguments") or "{}"), id=id)
        else:
            there = ", ".join(known) or "none"
            text = f"Error: there is no tool {name!r}.{nearest(name, known)} There are: {there}."
        if kind == "function_call":
            messages.append({"type": "function_call_output", "call_id": id, "output": text})
        else:
            messages.append({"role": "tool", "tool_call_id": id, "content": text})
    return messages


def _read(text: str, tool: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise ArgumentsError(f"the arguments of {tool!r} are not JSON: {error}") from None
    except RecursionError:
        raise ArgumentsError(f"the arguments of {tool!r} are nested too deeply") from None
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise ArgumentsError(f"the arguments of {tool!r} are not a JSON object, but {kind}")
    return cast("dict[str, Any]", value)
