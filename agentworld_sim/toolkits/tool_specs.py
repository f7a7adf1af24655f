"""Tools as people have them (functions, and the objects that are sent to a model) become specs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import EMPTY_SCHEMA, ToolSpec

_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes):\s*$\n?",
    re.MULTILINE,
)
_ARGUMENT = re.compile(
    r"^( *)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(.*(?:\n\1 +.*|\n[ ]*$)*)", re.MULTILINE
)
"""An argument of a docstring, with the lines that are further in than it."""


def spec_of(tool: ToolSpec | Callable[..., Any] | Mapping[str, Any]) -> ToolSpec:
    """What `tool` looks like to an agent.

    Raises:
        UsageError: it cannot be told.
    """
    if isinstance(tool, ToolSpec):
        return tool
    if isinstance(tool, Mapping):
        return with_domain(_of_object(cast("Mapping[str, Any]", tool)))
    if callable(tool):
        return with_domain(_of_function(tool))
    raise UsageError(
        f"{tool!r} is no tool. Give a function, an object as it is sent to a model, or a ToolSpec."
    )


def with_domain(tool: ToolSpec) -> ToolSpec:
    """`tool` with the domain that its name and its schema show, unless it is a well-known tool of a shell
    or a browser, or has a domain. Only tools of the domain `mcp` are answered from tables."""
    # Imported late: nobody needs the toolkits before a tool is bound.
    from agentworld_sim.toolkits import binding_for, infer_domain

    if tool.domain is not None or binding_for(tool):
        return tool
    return replace(tool, domain=infer_domain(tool))


def chat_tool(tool: ToolSpec) -> dict[str, Any]:
    """A tool as chat completions and chat templates take it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
        },
    }


def field_of(item: Any, name: str) -> Any:
    """A field of what a client library gives: an object, or the JSON of it."""
    if isinstance(item, Mapping):
        return cast("Mapping[str, Any]", item).get(name)
    return getattr(item, name, None)


def _of_object(tool: Mapping[str, Any]) -> ToolSpec:
    inside: Any = tool.get("function", tool)
    found = cast("Mapping[str, Any]", inside if isinstance(inside, Mapping) else {})
    name: Any = found.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"a tool of the type {tool.get('type')!r} has no name: what a provider runs itself cannot be"
            " bound. Leave it out, or give a function in its place."
        )
    keys = ("parameters", "input_schema", "inputSchema")
    schema = next((found[key] for key in keys if found.get(key)), EMPTY_SCHEMA)
    if not isinstance(schema, Mapping):
        raise UsageError(f"the schema of the tool {name!r} is not an object: {schema!r}")
    return ToolSpec(
        name=name,
        description=str(found.get("description") or ""),
        input_schema={**EMPTY_SCHEMA, **cast("Mapping[str, Any]", schema)},
        output_schema=found.get("outputSchema"),
        annotations=found.get("annotations") or {},
    )


def _of_function(function: Callable[..., Any]) -> ToolSpec:
    name: str = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise UsageError(f"{function!r} has no name that a tool could have. Define it with `def`.")
    description, about = _parse_docstring(inspect.getdoc(function) or "")
    schema = _schema(function, name)
    properties = cast("dict[str, dict[str, Any]]", schema.setdefault("properties", {}))
    for argument, text in about.items():
        if argument in properties:
            properties[argument].setdefault("description", text)
    return ToolSpec(name=name, description=description, input_schema=schema)


def _schema(function: Callable[..., Any], name: str) -> dict[str, Any]:
    # Imported late: it takes longer than all the rest of this library's core.
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

    class Plain(GenerateJsonSchema):
        ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 -- pydantic's own attribute
            "skipped-choice",
            "non-serializable-default",
        }

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    if inspect.Parameter.POSITIONAL_ONLY in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        raise UsageError(
            f"{name}() takes arguments without names, which a model cannot give. Name them all."
        )
    try:
        return TypeAdapter(cast("Any", function)).json_schema(schema_generator=Plain)
    except (PydanticUserError, PydanticUndefinedAnnotation, NameError) as error:
        problem = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise UsageError(
            f"it cannot be told what {name}() takes: {problem}. Annotate its arguments with types"
            " that JSON has, or give a ToolSpec."
        ) from None


def _parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and what the section `Args:` says of each argument."""
    description, *sections = _SECTION.split(text)
    about: dict[str, str] = {}
    for heading, content in zip(sections[::2], sections[1::2], strict=True):
        if heading in ("Args", "Arguments", "Parameters"):
            found = _ARGUMENT.finditer(content)
            about.update((one[2], " ".join(one[3].split())) for one in found)
    return description.strip(), about
