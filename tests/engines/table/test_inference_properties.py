"""Rules of inference that hold for any listing and any schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from agentworld_sim.engines.table import Plan, infer, plan_of
from agentworld_sim.engines.table.words import plural, singular, words
from agentworld_sim.types.tools import ToolSpec
from tests.engines.table.listings import LISTINGS, specs, written
from tests.properties import examples


def pascal(parts: Sequence[str]) -> str:
    return "".join(part.capitalize() for part in parts)


def camel(parts: Sequence[str]) -> str:
    return parts[0] + pascal(parts[1:])


STYLES: dict[str, Callable[[Sequence[str]], str]] = {
    "snake": "_".join,
    "kebab": "-".join,
    "camel": camel,
    "Pascal": pascal,
    "words": " ".join,
}
# A dot sets the server's own name apart, so a name with dots says more than one without.
PLAIN = [name for name in LISTINGS if not any("." in tool.name for tool in specs(name))]


def renamed(plan: Plan, names: dict[str, str]) -> dict[str, Any]:
    content = written(plan)
    return {
        "operations": {names[name]: one for name, one in content["operations"].items()},
        "tables": content["tables"],
    }


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("listing", PLAIN)
def test_the_case_style_of_names_does_not_matter(listing: str, style: str) -> None:
    tools = specs(listing)
    names = {tool.name: STYLES[style](list(words(tool.name))) for tool in tools}
    again = plan_of([replace(tool, name=names[tool.name]) for tool in tools])
    assert written(again) == renamed(plan_of(tools), names)


@given(listing=st.sampled_from(sorted(LISTINGS)), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_order_of_tools_does_not_matter(listing: str, data: st.DataObject) -> None:
    tools = specs(listing)
    assert plan_of(data.draw(st.permutations(tools))) == plan_of(tools)


@given(listing=st.sampled_from(sorted(LISTINGS)), other=st.sampled_from(sorted(LISTINGS)))
@settings(max_examples=examples(60), deadline=None)
def test_tools_about_something_else_do_not_matter(listing: str, other: str) -> None:
    tools = specs(listing)
    plan = plan_of(tools)
    nouns = {part for tool in tools for part in map(singular, words(tool.name))}
    own = {name for tool in tools for name in tool.input_schema.get("properties", {})}
    # `contact_id` is about contacts: their tools are not about something else.
    nouns |= {singular(name.removesuffix("_id")) for name in own if name.endswith("_id")}
    beside = [
        tool
        for tool in specs(other)
        if not nouns & set(map(singular, words(tool.name)[1:]))
        and not own & set(tool.input_schema.get("properties", {}))
        and len(words(tool.name)) > 1
    ]
    both = plan_of([*tools, *beside])
    assert {name: both.operations.get(name) for name in plan.operations} == plan.operations
    assert {name: both.tables.get(name) for name in plan.tables} == plan.tables


NAMES = st.sampled_from(
    "id issue_id name title key state status limit page cursor items data result total url query"
    " record records owner created_at min_price tags $defs".split()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from("string integer number boolean array object null".split())


def keyed(key: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with one keyword."""
    return st.fixed_dictionaries({key: values})


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    keyed("type", KINDS),
    keyed("type", st.lists(KINDS, min_size=1, max_size=3, unique=True)),
    keyed("enum", st.lists(VALUES, min_size=1, max_size=3)),
    keyed("const", VALUES),
    keyed(
        "$ref",
        st.sampled_from(
            ["#", "#/$defs/id", "#/properties/items", "#/$defs/missing", "https://example.com/x"]
        ),
    ),
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=4)},
            optional={
                "required": st.lists(NAMES, max_size=3, unique=True),
                "$defs": st.dictionaries(NAMES, inner, max_size=2),
                "additionalProperties": inner,
                "description": st.text(max_size=10),
            },
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        *(
            keyed(key, st.lists(inner, min_size=1, max_size=3))
            for key in ("anyOf", "oneOf", "allOf")
        ),
    ),
    max_leaves=12,
)


def is_mapping(schema: Any) -> bool:
    return isinstance(schema, dict)


OBJECTS: st.SearchStrategy[dict[str, Any]] = SCHEMAS.filter(is_mapping)
TOOLS = st.builds(
    ToolSpec,
    name=st.one_of(
        st.builds(
            "{}_{}".format,
            st.sampled_from("create get list search update delete count save close mark x".split()),
            st.sampled_from("issue issues issue_comments record key items data list".split()),
        ),
        st.text(min_size=1, max_size=12),
    ),
    input_schema=OBJECTS,
    output_schema=st.none() | OBJECTS,
    domain=st.just("mcp"),
)


@given(st.lists(TOOLS, min_size=1, max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_no_valid_schema_makes_inference_raise(tools: list[ToolSpec]) -> None:
    for tool in tools:
        Draft202012Validator.check_schema(dict(tool.input_schema))
        infer(tool)
    plan = plan_of(tools)
    named = {tool.name for tool in tools}
    assert set(plan.operations) | set(plan.unbound) == named
    assert not set(plan.operations) & set(plan.unbound)
    for operation in plan.operations.values():
        assert operation.table in plan.tables


def test_references_that_multiply_without_bound_are_not_followed_for_ever() -> None:
    bomb = {
        "type": "object",
        "properties": {"id": {"$ref": "#/$defs/d0"}},
        "$defs": {
            f"d{n}": {
                "type": "object",
                "properties": {f"p{m}": {"$ref": f"#/$defs/d{n + 1}"} for m in range(20)},
            }
            for n in range(12)
        },
    }
    tools = [
        ToolSpec(name=name, input_schema=bomb, output_schema=bomb, domain="mcp")
        for name in ("create_thing", "list_things")
    ]
    assert set(plan_of(tools).unbound) | set(plan_of(tools).operations) == {
        "create_thing",
        "list_things",
    }


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("issues", "issue"),
        ("entries", "entry"),
        ("statuses", "status"),
        ("addresses", "address"),
        ("boxes", "box"),
        ("branches", "branch"),
        ("people", "person"),
        ("databases", "database"),
        ("series", "series"),
        ("movies", "movie"),
        ("warehouses", "warehouse"),
    ],
)
def test_nouns_are_known_in_both_numbers(many: str, one: str) -> None:
    assert (singular(many), singular(one), plural(one)) == (one, one, many)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("listPullRequests", "list pull requests"),
        ("API-post-page", "api post page"),
        ("github_create_issue", "github create issue"),
        ("getUserByID", "get user by id"),
        ("listPRs", "list prs"),
        ("github.issues.create", "github issues create"),
        ("", ""),
    ],
)
def test_names_are_read_as_words(name: str, parts: str) -> None:
    assert " ".join(words(name)) == parts
