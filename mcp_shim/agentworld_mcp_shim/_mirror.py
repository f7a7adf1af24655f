"""The mirror: what upstreams list, as clients are shown it, and their tools as the world is given them.

Of several upstreams one mirror shows `UPSTREAM__tool`, `UPSTREAM__prompt`, and resources as they are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from agentworld_mcp_shim._listing import LISTS, Listing, Page, Pages
from agentworld_sim import __version__
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.schema.validate import MalformedSchema, schema_problem
from agentworld_sim.toolkits import infer_domain
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.world import World
    from mcp import UriTemplate

logger = logging.getLogger(__name__)

LIST_DEFAULTS: Mapping[str, Any] = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
"""What a listing of the newest protocol must carry, for upstreams that speak an older one."""

OWN_NAME = "agentworld"
"""Of a server that mirrors no single other one."""

SEPARATOR = "__"
"""Between an upstream's name and a tool's, where several upstreams are shown as one."""

_KEYS = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}
"""What must be unique in a list of several upstreams whose entries keep their own names."""


Origin = tuple[str, Mapping[str, Any]]
"""The upstream that a request belongs to (empty when there is only one), and the request's parameters with the
names that this upstream uses.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredTool:
    """One tool of an upstream, as one view shows it."""

    name: str
    """What a client calls it."""
    listed: Mapping[str, Any]
    """As it came over the wire."""
    upstream: str = ""
    """The name of the upstream that has it; empty when there is only one."""
    upstream_name: str = ""
    """What that upstream calls it."""
    world_name: str = ""
    """What the world calls it."""
    problems: list[str] = field(default_factory=list[str])
    """Why it cannot be answered whatever it binds to; one list for all views of the tool."""

    @property
    def problem(self) -> str | None:
        """The first of `problems`."""
        return self.problems[0] if self.problems else None

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The schema of its arguments; empty when it has none that could be one."""
        schema: object = self.listed.get("inputSchema")
        return cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """The schema of its structured results."""
        return None if self.problem else self.listed.get("outputSchema") or None

    @property
    def takes_text(self) -> bool:
        """Whether its output schema is `{"result": string}`: how the SDK declares a plain text."""
        # By its shape, not by validation: this is asked of every tool at start-up.
        schema = self.output_schema or {}
        result: object = schema.get("properties", {}).get("result")
        return (
            isinstance(result, dict)
            and cast("dict[str, Any]", result).get("type") == "string"
            and set(schema.get("required", ())) <= {"result"}
        )

    def examine(self) -> str | None:
        """What is wrong with its schemas as JSON Schemas; `None` when they can be used."""
        for kind, schema in (("input", self.input_schema), ("output", self.output_schema)):
            try:
                schema_problem(schema or {}, {})
            except MalformedSchema as error:
                return schema_fault(kind, error)
        return None


def schema_fault(kind: str, error: MalformedSchema) -> str:
    """The problem of a tool whose input or output schema is none."""
    return f"its {kind} schema is malformed: {str(error).removeprefix('malformed JSON schema: ')}"


class Mirror:
    """What a client is shown. It never changes, and holds no connection."""

    def __init__(self, listing: Listing, *, upstream: str = "") -> None:
        """`upstream` is its name among several that share a world, which knows its tools as `UPSTREAM__tool`."""
        self.listing = listing
        self.upstream = upstream
        self.tools: dict[str, MirroredTool] = {}
        """By the name that clients use."""
        self.warnings: list[str] = []
        self._shaped: dict[tuple[str, str | None, str], Page] = {}
        for number, tool in enumerate(listing.items("tools/list")):
            self._add(number, tool)

    def origin(self, method: str, params: Mapping[str, Any]) -> Origin:
        """Which upstream a request that is no tool call belongs to."""
        return self.upstream, params

    def offers(self, capability: str, flag: str | None = None) -> bool:
        """Whether the upstream showed a capability, or a flag of it such as `subscribe`."""
        shown = self.listing.capabilities.get(capability)
        if flag is None or shown is None:
            return shown is not None
        return isinstance(shown, dict) and bool(cast("dict[str, Any]", shown).get(flag))

    def list_page(self, method: str, cursor: str | None, version: str) -> Page | None:
        """A page of any list; `None` when no page has the cursor.

        What the client's protocol version cannot express is left out, because the client would reject the
        whole list for it.
        """
        found = self.listing.pages(method).get(cursor)
        if found is None:
            return None
        key = method, cursor, version
        if key not in self._shaped:
            self._shaped[key] = _expressible(method, {**LIST_DEFAULTS, **found}, version)
        return self._shaped[key]

    def specs(self, binds: Mapping[str, str]) -> list[ToolSpec]:
        """The tools as the world is given them.

        Raises:
            UsageError: `binds` names a tool that the upstream does not have.
        """
        for name in binds:
            if name not in self.tools:
                raise UsageError(
                    f"--bind {name}={binds[name]}: the upstream has no tool {name!r}."
                    f"{nearest(name, self.tools)} It has: {', '.join(self.tools) or 'none'}."
                )
        specs = (
            ToolSpec(
                name=tool.world_name,
                description=tool.listed.get("description") or "",
                input_schema=tool.input_schema,
                # A world demands structured content for a schema; text is wrapped by us, afterwards.
                output_schema=None if tool.takes_text else tool.output_schema,
                annotations=tool.listed.get("annotations") or {},
                binds_to=binds.get(tool.name),
            )
            for tool in self.tools.values()
            if tool.problem is None
        )
        return [replace(spec, domain=infer_domain(spec)) for spec in specs]

    async def bind(self, world: World, specs: Sequence[ToolSpec]) -> World:
        """Gives a world the mirror's tools, and returns it."""
        known = len(self.warnings)
        # In a thread, because thousands of tools take a while and a client is being served.
        await asyncio.to_thread(self.bind_at_once, world, specs)
        for warning in self.warnings[known:]:
            logger.warning("%s", warning)
        return world

    def bind_at_once(self, world: World, specs: Sequence[ToolSpec]) -> None:
        """Gives a world the mirror's tools, and refuses those whose schemas cannot be used.

        To examine all would cost seconds for thousands of tools, and only bound ones are ever used.
        """
        bound = {tool.name for tool in world.add_tools(specs) if tool.access == "simulate"}
        for tool in self.tools.values():
            if tool.world_name in bound and tool.problem is None and (problem := tool.examine()):
                self._refuse(tool, problem)

    def _add(self, number: int, listed: object) -> None:
        tool = cast("dict[str, Any]", listed) if isinstance(listed, dict) else {}
        name: object = tool.get("name")
        if not isinstance(name, str) or not name:
            self.warnings.append(f"tool {number + 1} of the upstream has no name; it is left out.")
            return
        earlier = self.tools.get(name)
        if earlier is None:
            self.tools[name] = added = MirroredTool(
                name=name,
                listed=tool,
                upstream=self.upstream,
                upstream_name=name,
                world_name=f"{self.upstream}{SEPARATOR}{name}" if self.upstream else name,
            )
            if problem := _shape_problem(tool):
                self._refuse(added, problem)
        elif earlier.listed == tool:
            self.warnings.append(f"the upstream lists {name!r} twice, in the same words.")
        else:
            self._refuse(earlier, "the upstream lists two different tools of that name")

    def _refuse(self, tool: MirroredTool, problem: str) -> None:
        if tool.problem is None:
            tool.problems.append(problem)
            self.warnings.append(f"{tool.name!r} is refused: {problem}.")


class MergedMirror(Mirror):
    """What a client is shown of several upstreams at once."""

    def __init__(self, mirrors: Mapping[str, Mirror]) -> None:
        self._mirrors = dict(mirrors)
        self._clashes: list[str] = []
        self._owners: dict[tuple[str, str], str] = {}
        merged = self._merge()
        super().__init__(replace(merged, lists={}))
        self.listing = merged
        for name, mirror in self._mirrors.items():
            self.warnings += [f"{name}: {warning}" for warning in mirror.warnings]
            for tool in mirror.tools.values():
                self.tools[tool.world_name] = replace(tool, name=tool.world_name)
        self.warnings += self._clashes

    def origin(self, method: str, params: Mapping[str, Any]) -> Origin:
        """Which upstream a request that is no tool call belongs to; nobody's has an empty name."""
        if method == "prompts/get":
            return self._split_name(params, "name")
        if method == "completion/complete":
            ref = cast("Mapping[str, Any]", params["ref"])
            if ref.get("type") == "ref/prompt":
                upstream, inner = self._split_name(ref, "name")
                return upstream, {**params, "ref": inner}
            return self._owner(str(ref.get("uri"))), params
        if "uri" in params:
            return self._owner(str(params["uri"])), params
        return "", params

    def _split_name(self, params: Mapping[str, Any], key: str) -> Origin:
        shown = str(params[key])
        for name in self._mirrors:
            if shown.startswith(name + SEPARATOR):
                return name, {**params, key: shown[len(name + SEPARATOR) :]}
        return "", params

    def _owner(self, uri: str) -> str:
        for method in _KEYS:
            if (owner := self._owners.get((method, uri))) is not None:
                return owner
        for (method, template), owner in self._owners.items():
            if method == "resources/templates/list" and template_values(template, uri) is not None:
                return owner
        return ""

    def _merge(self) -> Listing:
        listings = {name: mirror.listing for name, mirror in self._mirrors.items()}
        instructions = [
            f"{name}: {listing.instructions}"
            for name, listing in listings.items()
            if listing.instructions
        ]
        return Listing(
            identity={"name": OWN_NAME, "version": __version__},
            instructions="\n\n".join(instructions) or None,
            capabilities=_all_capabilities(listings),
            lists={method: pages for method in LISTS if (pages := self._pages(method, listings))},
            contents={
                uri: content
                for name, listing in listings.items()
                for uri, content in listing.contents.items()
                if self._owners.get(("resources/list", uri), name) == name
            },
            prompts={
                f"{name}{SEPARATOR}{prompt}": result
                for name, listing in listings.items()
                for prompt, result in listing.prompts.items()
            },
        )

    def _pages(self, method: str, listings: Mapping[str, Listing]) -> Pages:
        """What all list, on one page: many clients read the first one alone."""
        shown = [
            item
            for name, listing in listings.items()
            for one in listing.items(method)
            if (item := self._present(method, name, one)) is not None
        ]
        listed = any(listing.pages(method) for listing in listings.values())
        return {None: {LISTS[method].items: shown}} if listed else {}

    def _present(self, method: str, name: str, item: object) -> object:
        """What an upstream lists, as it is shown beside the others'; `None` when another one has it."""
        if not isinstance(item, dict):
            return item
        listed, key = cast("dict[str, Any]", item), _KEYS.get(method)
        if key is None:
            own = listed.get("name")
            return {**listed, "name": f"{name}{SEPARATOR}{own}" if isinstance(own, str) else own}
        identity = str(listed.get(key))
        owner = self._owners.setdefault((method, identity), name)
        if owner == name:
            return listed
        self._clashes.append(
            f"{owner!r} and {name!r} both offer {identity!r}: it is read from {owner!r}."
        )
        return None


def world_listing(world: World) -> Listing:
    """The world's own tools, as an upstream would list them."""
    own = (tool for tool in world.tools.values() if tool.access == "simulate")
    return tools_listing([tool_entry(tool) for tool in own])


def tools_listing(tools: Sequence[Mapping[str, Any]]) -> Listing:
    """A server of ours that has these tools."""
    return Listing(
        identity={"name": OWN_NAME, "version": __version__},
        lists={"tools/list": {None: {"tools": list(tools)}}},
    )


def tool_entry(tool: ToolSpec) -> dict[str, Any]:
    """A tool as `tools/list` shows it."""
    listed: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    if tool.output_schema is not None:
        listed["outputSchema"] = tool.output_schema
    if tool.annotations:
        listed["annotations"] = dict(tool.annotations)
    return listed


def template_values(template: str, uri: str) -> dict[str, str | list[str]] | None:
    """The values with which a resource template becomes `uri`; `None` when it cannot."""
    parsed = _template(template)
    return None if parsed is None else parsed.match(uri)


@lru_cache(maxsize=1024)
def _template(template: str) -> UriTemplate | None:
    from mcp import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None


def _shape_problem(listed: Mapping[str, Any]) -> str | None:
    """What is wrong with a tool before its schemas are looked at as such."""
    for key in ("inputSchema", "outputSchema"):
        schema: object = listed.get(key)
        if schema is None and key == "outputSchema":
            continue
        if schema is None:
            return f"it has no {key}"
        if not isinstance(schema, dict):
            return f"its {key} is not an object"
        content = cast("dict[str, Any]", schema)
        if key == "inputSchema" and content.get("type") != "object":
            return f'its {key} must have "type": "object"; it has {content.get("type")!r}'
        properties: object = content.get("properties", {})
        if not isinstance(properties, dict):
            return f"the properties of its {key} are not an object"
        for name, value in cast("dict[str, object]", properties).items():
            if not isinstance(value, dict | bool):
                return f"the property {name!r} of its {key} is not a schema"
        required: object = content.get("required", [])
        if not isinstance(required, list) or not all(
            isinstance(name, str) for name in cast("list[object]", required)
        ):
            return f"the required names of its {key} are not a list of names"
    return None


def _expressible(method: str, page: dict[str, Any], version: str) -> Page:
    """The page without what a protocol version cannot express."""
    from mcp.types.methods import validate_server_result
    from pydantic import ValidationError

    key = LISTS[method].items

    def valid(items: list[object]) -> bool:
        try:
            validate_server_result(method, version, {**page, key: items})
        except ValidationError:
            return False
        return True

    if valid(page[key]):
        return page
    # A page whose other fields are at fault would lose everything: better lose those.
    if not valid([]):
        page = {**LIST_DEFAULTS, key: page[key], "nextCursor": page.get("nextCursor")}
    return {**page, key: [item for item in page[key] if valid([item])]}


def _all_capabilities(listings: Mapping[str, Listing]) -> dict[str, Any]:
    """What any of them can; a flag is set when any of them sets it."""
    merged: dict[str, Any] = {}
    for listing in listings.values():
        for name, shown in listing.capabilities.items():
            earlier = merged.get(name)
            if isinstance(earlier, dict) and isinstance(shown, dict):
                known = cast("dict[str, Any]", earlier)
                for flag, value in cast("dict[str, Any]", shown).items():
                    known[flag] = known.get(flag) or value
            elif shown is not None:
                merged[name] = copy(shown)
    return merged
