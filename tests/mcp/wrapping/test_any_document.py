"""Whatever a file looks like: wrapping and unwrapping is the identity, and touches only the entries."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, example, given, settings, strategies as st

from agentworld_mcp_shim._targets import server_name
from agentworld_mcp_shim.wrapping import WrapChoice, unwrap_text, wrap_text
from agentworld_mcp_shim.wrapping._config_text import Format, read_config
from agentworld_sim.errors import UsageError
from tests.properties import examples

CHOICE = WrapChoice(
    interpreter="/opt/py/bin/python", world="lab", variables={"AGENTWORLD_MODEL": "m"}
)
JSON = Path("/x/.mcp.json")
unhurried = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

words = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=0, max_size=8
)
names = st.sampled_from(["db", "git hub", "é", "a/b", "x.y", "C:\\z", '"', "${VAR}", "--", "-m"])
texts = st.one_of(words, names)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), texts)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(
    st.sampled_from(["Authorization", "X-Api-Key", "API_KEY", "x"]), texts, max_size=3
)
urls = st.sampled_from(
    ["https://a.example/mcp", "http://127.0.0.1:8/mcp?key=abc", "${URL}", "https://u:p@h/m"]
)
unknown = st.dictionaries(
    st.sampled_from(["cwd", "timeout", "disabled", "note"]), plain, max_size=2
)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """A server's entry with its keys in any order."""
    entry = draw(unknown)
    if draw(st.booleans()):
        entry |= {"command": draw(texts)}
        entry |= draw(st.fixed_dictionaries({}, optional={"args": st.lists(texts, max_size=4)}))
        entry |= draw(
            st.fixed_dictionaries({}, optional={"env": st.dictionaries(names, texts, max_size=3)})
        )
    else:
        entry |= {"url": draw(urls)}
        entry |= draw(
            st.fixed_dictionaries({}, optional={"headers": headers, "type": st.just("http")})
        )
    return dict(draw(st.permutations(list(entry.items()))))


class Printer:
    """Writes JSON with any white space, comments and trailing commas that are allowed."""

    def __init__(self, draw: st.DrawFn, newline: str) -> None:
        self.draw = draw
        pieces = ["", "", " ", "\n", "\n  ", "\t", "/* c, ] } */", '// "x": {\n', " /**/ "]
        self.gaps = st.sampled_from([piece.replace("\n", newline) for piece in pieces])

    def gap(self) -> str:
        return self.draw(self.gaps)

    def written(self, value: Any) -> str:
        if isinstance(value, dict):
            parts = [
                f"{self.gap()}{json.dumps(key, ensure_ascii=self.draw(st.booleans()))}"
                f"{self.gap()}:{self.gap()}{self.written(inner)}{self.gap()}"
                for key, inner in value.items()  # pyright: ignore[reportUnknownVariableType]
            ]
            return "{" + self.joined(parts) + "}"
        if isinstance(value, list):
            parts = [f"{self.gap()}{self.written(inner)}{self.gap()}" for inner in value]  # pyright: ignore[reportUnknownVariableType]
            return "[" + self.joined(parts) + "]"
        return json.dumps(value, ensure_ascii=self.draw(st.booleans()))

    def joined(self, parts: list[str]) -> str:
        trailing = "," + self.gap() if parts and self.draw(st.booleans()) else ""
        return (",".join(parts) + trailing) if parts else self.gap()


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A JSON file with servers in it, and its value."""
    around = draw(st.dictionaries(names, plain, max_size=2))
    keys = draw(st.lists(texts, min_size=1, max_size=3, unique_by=server_name))
    servers = {key: draw(entries()) for key in keys}
    value = dict(draw(st.permutations([*around.items(), ("mcpServers", servers)])))
    printer = Printer(draw, draw(st.sampled_from(["\n", "\r\n"])))
    text = printer.gap() + printer.written(value) + printer.gap()
    return draw(st.sampled_from(["", "\ufeff"])) + text, value


def outside(text: str, servers: set[str]) -> list[str]:
    """The pieces of a text that are in none of these servers' entries."""
    plain = text.removeprefix("\ufeff")
    places = read_config(plain, "jsonc").spans
    spans = sorted(
        span
        for path, span in places.items()
        if path[0] == "mcpServers" and len(path) == 2 and path[1] in servers
    )
    edges = [0, *(edge for span in spans for edge in span), len(plain)]
    return [plain[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


@unhurried
@given(documents())
def test_json_is_read_as_it_was_meant(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    assert read_config(text.removeprefix("\ufeff"), "jsonc").value == value


@unhurried
@given(documents())
def test_wrapping_and_unwrapping_json_is_the_identity(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, value = document
    wrapped = wrap_text(text, JSON, CHOICE)
    assert unwrap_text(wrapped.text, JSON).text == text
    assert wrap_text(wrapped.text, JSON, CHOICE).text == wrapped.text
    read = read_config(wrapped.text.removeprefix("\ufeff"), "jsonc").value
    assert {k: v for k, v in read.items() if k != "mcpServers"} == {
        k: v for k, v in value.items() if k != "mcpServers"
    }
    changed = {one.server for one in wrapped.outcomes if one.fate == "wrapped"}
    assert outside(text, changed) == outside(wrapped.text, changed)
    for name, entry in value["mcpServers"].items():
        now = read["mcpServers"][name]
        if name not in changed:
            assert now == entry
        elif "command" in entry:
            assert now["command"] == CHOICE.interpreter
            assert now["args"][5:] == [entry["command"], *entry.get("args", [])]
            assert {**now["env"], **entry.get("env", {})} == now["env"]
        else:
            assert entry["url"] in (now["args"][-1], now["env"].get("AGENTWORLD_UPSTREAM_URL"))
            assert not any(
                secret in argument
                for secret in ("key=", "u:p", "${", *entry.get("headers", {}).values())
                for argument in now["args"]
                if len(secret) > 6 or secret in ("key=", "u:p", "${")
            )


@unhurried
@example({"a": {"url": "http://127.0.0.1:8/mcp?key=abc", "headers": {}}})
@given(st.dictionaries(st.sampled_from(["a", "b c", "é"]), entries(), min_size=1))
def test_wrapping_and_unwrapping_yaml_is_the_identity(servers: dict[str, dict[str, Any]]) -> None:
    renamed = {"command": "cmd", "env": "envs", "url": "uri"}
    value = {
        "extensions": {
            name: {renamed.get(key, key): inner for key, inner in entry.items()}
            for name, entry in servers.items()
        },
        "after": [1, {"x": None}],
    }
    path = Path("/x/config.yaml")
    for flow in (False, None, True):
        text = yaml.safe_dump(value, default_flow_style=flow, sort_keys=False, width=10_000)
        assert read_config(text, "yaml").value == value
        wrapped = wrap_text(text, path, CHOICE)
        assert unwrap_text(wrapped.text, path).text == text
        assert yaml.safe_load(wrapped.text)["after"] == value["after"]


toml_texts = st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=8)


@st.composite
def toml_documents(draw: st.DrawFn) -> str:
    """A Codex file: tables, inline tables, comments, several kinds of strings."""
    text = draw(st.sampled_from(["", "# first\n", 'model = "x"\n[tui]\nn = 1.5 # y\n']))
    for name in draw(st.lists(st.sampled_from(["a", '"b c"', "'d.e'"]), min_size=1, unique=True)):
        pairs = [f"command = {json.dumps(draw(toml_texts))}"]
        if draw(st.booleans()):
            gap = draw(st.sampled_from(["", " ", "\n  ", " # c ]\n"]))
            items = [f"{gap}{json.dumps(word)}{gap}" for word in draw(st.lists(toml_texts))]
            pairs.append(f"args = [{','.join(items)}{gap}]")
        if draw(st.booleans()):
            pairs.append("env = { X = 'y', \"Z z\" = '''w''' }")
        pairs.append("startup_timeout_sec = 20")
        pairs = draw(st.permutations(pairs))
        comment = draw(st.sampled_from(["", " # here", "   "]))
        text += f"[mcp_servers.{name}]{comment}\n" + f"{comment}\n".join(pairs)
        text += draw(st.sampled_from(["\n", "\n\n", "\n# end\n"]))
        if "env = " not in text.rpartition("[mcp_servers.")[2] and draw(st.booleans()):
            text += f"[mcp_servers.{name}.env]{comment}\n"
            text += draw(st.sampled_from(["", "A = '1'\n", 'A = "1" # a\n\nB = """\nb"""\n']))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@unhurried
@given(toml_documents())
def test_wrapping_and_unwrapping_toml_is_the_identity(text: str) -> None:
    path = Path("/x/.codex/config.toml")
    wrapped = wrap_text(text, path, CHOICE)
    assert unwrap_text(wrapped.text, path).text == text
    servers = tomllib.loads(wrapped.text)["mcp_servers"]
    before = tomllib.loads(text)["mcp_servers"]
    for name, entry in servers.items():
        assert entry["command"] == CHOICE.interpreter
        assert entry["args"][5:] == [before[name]["command"], *before[name].get("args", [])]


@unhurried
@given(st.text(st.sampled_from('{}[]",:/*\\ \n\tabc123-.eutrfalsn#='), max_size=40))
def test_no_text_makes_a_reader_fail_in_any_other_way(text: str) -> None:
    formats: tuple[Format, ...] = ("jsonc", "toml", "yaml")
    for format in formats:
        try:
            read_config(text, format)
        except UsageError as error:
            assert str(error)


@unhurried
@given(plain)
def test_what_python_writes_as_json_is_read_alike(value: Any) -> None:
    assert read_config(json.dumps(value), "jsonc").value == value
    assert read_config(json.dumps(value, indent=2), "jsonc").value == value
