"""The mirror: an upstream's tools as it lists them, and as the world is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentworld_mcp_shim._schemas import Schema, ValidationStyle, validation_style
from agentworld_mcp_shim._upstream import Listing, Page
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.tools import ToolSpec

LIST_DEFAULTS: Mapping[str, Any] = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
"""What a listing of the newest protocol must carry, for upstreams that speak an older one."""


class MirroredTool:
    """One tool of the upstream."""

    def __init__(self, name: str, listed: Mapping[str, Any]) -> None:
        self.name = name
        """What a client calls it."""
        self.world_name = name
        """What the world calls it."""
        self.upstream = ""
        """The name of the upstream that has it; empty when there is only one."""
        self.upstream_name = name
        """What that upstream calls it."""
        self.listed = listed
        """As it came over the wire."""
        self.problem = _shape_problem(listed)
        """Why it cannot be answered whatever it binds to; `None` when nothing is wrong with it."""
        sound = self.problem is None
        self.input = Schema(listed["inputSchema"] if sound else {})
        self.output = (
            Schema(listed["outputSchema"]) if sound and listed.get("outputSchema") else None
        )
        self.takes_text = self.output is not None and _takes_text(self.output.content)
        """Whether its output schema is `{"result": string}`: how the SDK declares a plain text."""

    def schema_problem(self) -> str | None:
        """What is wrong with its schemas as JSON Schemas; `None` when they can be used."""
        for kind, schema in (("input", self.input), ("output", self.output)):
            if schema is not None and (problem := schema.problem()) is not None:
                return f"its {kind} schema is malformed: {problem}"
        return None


class Mirror:
    """What a client is shown. It never changes, and holds no connection."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.tools: dict[str, MirroredTool] = {}
        self.warnings: list[str] = []
        self._shaped: dict[tuple[str | None, str], Page] = {}
        for page in listing.pages.values():
            for number, tool in enumerate(page["tools"]):
                self._add(number, tool)

    def page(self, cursor: str | None, version: str) -> Page | None:
        """The result of `tools/list` for a cursor; `None` when no page has it.

        Args:
            cursor: The client's.
            version: The protocol version it speaks. A tool that this version cannot express is left
                out, because the client would reject the whole list for it.
        """
        found = self.listing.pages.get(cursor)
        if found is None:
            return None
        key = cursor, version
        if key not in self._shaped:
            self._shaped[key] = _expressible({**LIST_DEFAULTS, **found}, version)
        return self._shaped[key]

    @property
    def style(self) -> ValidationStyle:
        """How the server speaks of mistakes: as its tools' schemas look."""
        styles = {validation_style(tool.input.content) for tool in self.tools.values()}
        return styles.pop() if len(styles) == 1 else "pydantic"

    def specs(self, binds: Mapping[str, str]) -> list[ToolSpec]:
        """The tools as the world is given them.

        Args:
            binds: Binding ids by tool name, for tools that do not bind by themselves.

        Raises:
            UsageError: `binds` names a tool that the upstream does not have.
        """
        for name in binds:
            if name not in self.tools:
                raise UsageError(
                    f"--bind {name}={binds[name]}: the upstream has no tool {name!r}."
                    f"{nearest(name, self.tools)} It has: {', '.join(self.tools) or 'none'}."
                )
        return [
            ToolSpec(
                name=tool.world_name,
                description=tool.listed.get("description") or "",
                input_schema=tool.input.content,
                # A world demands structured content for a schema; text is wrapped by us, afterwards.
                output_schema=tool.output.content if tool.output and not tool.takes_text else None,
                annotations=tool.listed.get("annotations") or {},
                domain="mcp",
                binds_to=binds.get(tool.name),
            )
            for tool in self.tools.values()
            if tool.problem is None
        ]

    def examine(self, names: Sequence[str]) -> None:
        """Looks whether the schemas of these tools can be used; those that cannot get a `problem`.

        All at once would cost seconds for thousands of tools, and only bound ones are ever used.
        """
        for name in names:
            tool = self.tools[name]
            if tool.problem is None and (problem := tool.schema_problem()) is not None:
                self._refuse(tool, problem)

    def _add(self, number: int, listed: object) -> None:
        name = cast("dict[str, Any]", listed).get("name") if isinstance(listed, dict) else None
        if not isinstance(name, str) or not name:
            self.warnings.append(f"tool {number + 1} of the upstream has no name; it is left out.")
            return
        tool = MirroredTool(name, cast("dict[str, Any]", listed))
        earlier = self.tools.get(name)
        if earlier is None:
            self.tools[name] = tool
            if tool.problem is not None:
                self.warnings.append(f"{name!r} is refused: {tool.problem}.")
        elif earlier.listed == tool.listed:
            self.warnings.append(f"the upstream lists {name!r} twice, in the same words.")
        else:
            self._refuse(earlier, "the upstream lists two different tools of that name")

    def _refuse(self, tool: MirroredTool, problem: str) -> None:
        if tool.problem is None:
            tool.problem = problem
            self.warnings.append(f"{tool.name!r} is refused: {problem}.")


def _takes_text(schema: Mapping[str, Any]) -> bool:
    # By its shape, not by validation: this is asked of every tool at start-up.
    result: object = schema.get("properties", {}).get("result")
    return (
        isinstance(result, dict)
        and cast("dict[str, Any]", result).get("type") == "string"
        and set(schema.get("required", ())) <= {"result"}
    )


def _shape_problem(listed: Mapping[str, Any]) -> str | None:
    """What is wrong with a tool before its schema is looked at as one."""
    for key, needed in (("inputSchema", True), ("outputSchema", False)):
        schema = listed.get(key)
        if schema is None and not needed:
            continue
        if schema is None:
            return f"it has no {key}"
        if not isinstance(schema, dict):
            return f"its {key} is {_kind(schema)}, not an object"
        content = cast("dict[str, Any]", schema)
        if needed and content.get("type") != "object":
            return f'its {key} must have "type": "object"; it has {content.get("type")!r}'
        properties: object = content.get("properties", {})
        if not isinstance(properties, dict):
            return f"the properties of its {key} are {_kind(properties)}, not an object"
        for name, value in cast("dict[str, object]", properties).items():
            if not isinstance(value, dict | bool):
                return f"the property {name!r} of its {key} is {_kind(value)}, not a schema"
        required: object = content.get("required", [])
        if not isinstance(required, list) or not all(
            isinstance(name, str) for name in cast("list[object]", required)
        ):
            return f"the required names of its {key} are not a list of names"
    return None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "a string"


def _expressible(page: dict[str, Any], version: str) -> Page:
    """The page without the tools that a protocol version cannot express."""
    from mcp.types.methods import validate_server_result
    from pydantic import ValidationError

    def valid(tools: list[object]) -> bool:
        try:
            validate_server_result("tools/list", version, {**page, "tools": tools})
        except ValidationError:
            return False
        return True

    if valid(page["tools"]):
        return page
    return {**page, "tools": [tool for tool in page["tools"] if valid([tool])]}
