"""A configuration file's text in any of the three formats: its value, and where each server's entry stands.

An entry is replaced by replacing its span of the text, never by writing the whole value out again: that
keeps comments, order, indentation and line endings of everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from agentworld_mcp_shim.wrapping._jsonc import Path, read_jsonc
from agentworld_sim.errors import UsageError

Format = Literal["jsonc", "toml", "yaml"]

_DEPTH = 4
"""The deepest entry stands in `projects.FOLDER.mcpServers.NAME`."""


@dataclass(slots=True)
class ConfigText:
    """A text that was read."""

    text: str
    format: Format
    value: Any
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """Where values stand; of a TOML table all of its lines."""
    problems: dict[Path, str] = field(default_factory=dict[Path, str])
    """Why a value cannot be replaced by itself."""

    def at(self, path: Path) -> Any:
        """The value at a path of keys, `None` if there is none."""
        value = self.value
        for key in path:
            value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
        return value

    def replace_entries(self, entries: Mapping[Path, str]) -> str:
        """The text with other sources for the values at these paths."""
        text = self.text
        for path in sorted(entries, key=lambda path: self.spans[path], reverse=True):
            start, end = self.spans[path]
            text = text[:start] + entries[path] + text[end:]
        return text

    def source(self, path: Path, value: Mapping[str, Any]) -> str:
        """How another value at a path is written here."""
        start = self.spans[path][0]
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        newline = "\r\n" if "\r\n" in self.text else "\n"
        if self.format == "toml":
            from agentworld_sim.toml import toml_literal, toml_text

            if not self.text.startswith("[", start):
                return toml_literal(value)
            return toml_text({path[0]: {path[1]: value}}).strip().replace("\n", newline)
        if self.format == "yaml":
            flow = self.text.startswith("{", start)
            lines = _yaml_source(value, flow=flow).splitlines()
            return (newline + " " * len(line)).join(lines)
        unit = re.search(r"\n([ \t]+)\S", self.text)
        written = json.dumps(value, indent=unit.group(1) if unit else None, ensure_ascii=False)
        # Half a character has no UTF-8.
        written = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", written)
        before = line[: len(line) - len(line.lstrip())]
        return written.replace("\n", newline + before)


def read_config(text: str, format: Format) -> ConfigText:
    """Reads a configuration file's text, without its byte order mark."""
    if format == "toml":
        return _read_toml(text)
    if format == "yaml":
        return _read_yaml(text)
    document = read_jsonc(text, depth=_DEPTH)
    twice = dict.fromkeys(document.repeated, "its name stands twice in the file")
    for path in document.repeated:
        twice.setdefault(path[:-1], "a key stands twice in it")
    return ConfigText(text, format, document.value, document.spans, twice)


def _read_toml(text: str) -> ConfigText:
    from agentworld_sim.toml import read_toml

    document = read_toml(text)
    config = ConfigText(text, "toml", document.value)
    for key, span in document.spans.items():
        if len(key) < 2 or not isinstance(document.value[str(key[0])], dict):
            continue
        path = (str(key[0]), str(key[1]))
        own = document.spans.get(path)
        if own is None or own.end > own.value:
            # Without a table of its own it consists of dotted keys, or of tables within it.
            config.spans[path] = (own or span)[1:]
            if own is None:
                config.problems[path] = "it has no table of its own; begin it with its name in [ ]"
            continue
        start, end = config.spans.get(path, (span.start, span.end))
        config.spans[path] = (min(start, span.start), max(end, span.end))
    for path, (start, end) in config.spans.items():
        if any(start < one.start < end and key[:2] != path for key, one in document.spans.items()):
            config.problems[path] = "other tables stand between its parts; put these together"
    return config


def _read_yaml(text: str) -> ConfigText:
    import yaml

    # Its stubs leave types open.
    parser: Any = yaml
    try:
        root = parser.compose(text, Loader=yaml.SafeLoader)
        config = ConfigText(text, "yaml", {})
        if root is not None:
            config.value = _YamlPlaces(config, root).value(root, ())
        return config
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise UsageError(f"{where}{error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise UsageError("it is nested too deeply, or an alias stands within its anchor.") from None


class _YamlPlaces:
    """Makes values of PyYAML's nodes, and notes where those of maps stand."""

    def __init__(self, config: ConfigText, root: Any) -> None:
        from yaml.constructor import SafeConstructor

        self._config = config
        self._constructor: Any = SafeConstructor()
        self._uses: dict[int, int] = {}
        self._count(root)

    def _count(self, node: Any) -> None:
        """How often each node is used: an alias uses the one of its anchor again."""
        key = id(node)
        self._uses[key] = self._uses.get(key, 0) + 1
        if self._uses[key] == 1 and node.id != "scalar":
            for inner in node.value:
                for part in inner if node.id == "mapping" else (inner,):
                    self._count(part)

    def value(self, node: Any, path: Path) -> Any:
        start, end = node.start_mark.index, node.end_mark.index
        if path in self._config.spans:
            self._config.problems[path] = "its name stands twice in the file"
            self._config.problems[path[:-1]] = "a key stands twice in it"
        self._config.spans[path] = (start, end)
        value: Any = self._value(node, path)
        if not getattr(node, "flow_style", True):
            # The end mark of a block stands where the next thing begins.
            if value:
                last = str(len(value) - 1) if node.id == "sequence" else [*value][-1]
                end = self._config.spans[(*path, last)][1]
            end = start + len(self._config.text[start:end].rstrip())
            self._config.spans[path] = (start, end)
        if self._uses[id(node)] > 1:
            for count in range(len(path) + 1):
                shared = "YAML aliases share parts of it; write them out"
                self._config.problems.setdefault(path[:count], shared)
        return value

    def _value(self, node: Any, path: Path) -> Any:
        if node.id == "mapping":
            return {str(k.value): self.value(v, (*path, str(k.value))) for k, v in node.value}
        if node.id == "sequence":
            return [self.value(v, (*path, str(i))) for i, v in enumerate(node.value)]
        # Tags of the client's own, and dates that are none, are text to us.
        if not str(node.tag).startswith("tag:yaml.org,2002:"):
            return node.value
        try:
            return self._constructor.construct_object(node)
        except ValueError:
            return node.value


def _yaml_source(value: Mapping[str, Any], *, flow: bool) -> str:
    import yaml

    class OneLine(yaml.SafeDumper):
        """Writes a text of several lines on one."""

    def text(dumper: Any, value: str) -> Any:
        style = '"' if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    OneLine.add_representer(str, text)
    dump: Any = yaml.dump
    return dump(
        dict(value),
        Dumper=OneLine,
        default_flow_style=flow,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    ).strip()
