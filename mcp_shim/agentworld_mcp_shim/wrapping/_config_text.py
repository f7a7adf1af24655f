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

from agentworld_sim.errors import UsageError

Format = Literal["jsonc", "toml", "yaml"]

Keys = tuple[str, ...]
"""The keys that lead to a value."""

_DEPTH = 4
"""The deepest entry stands in `projects.FOLDER.mcpServers.NAME`."""

_DECODER = json.JSONDecoder(strict=False)
_STRING = r'"(?:[^"\\\r\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class ConfigText:
    """A text that was read."""

    text: str
    format: Format
    value: Any = field(default_factory=dict[str, Any])
    spans: dict[Keys, tuple[int, int]] = field(default_factory=dict[Keys, tuple[int, int]])
    """Where values stand; of a TOML table all of its lines."""
    problems: dict[Keys, str] = field(default_factory=dict[Keys, str])
    """Why a value cannot be replaced by itself."""

    def at(self, path: Keys) -> Any:
        """The value at a path of keys, `None` if there is none."""
        value = self.value
        for key in path:
            value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
        return value

    def replace_entries(self, entries: Mapping[Keys, str]) -> str:
        """The text with other sources for the values at these paths."""
        text = self.text
        for path in sorted(entries, key=lambda path: self.spans[path], reverse=True):
            start, end = self.spans[path]
            text = text[:start] + entries[path] + text[end:]
        return text

    def source(self, path: Keys, value: Mapping[str, Any]) -> str:
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
            lines = _yaml_source(value, flow=self.text.startswith("{", start)).splitlines()
            return (newline + " " * len(line)).join(lines)
        unit = re.search(r"\n([ \t]+)\S", self.text)
        written = json.dumps(value, indent=unit.group(1) if unit else None, ensure_ascii=False)
        # Half a character has no UTF-8.
        written = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", written)
        return written.replace("\n", newline + line[: len(line) - len(line.lstrip())])

    def note(self, path: Keys, start: int, end: int) -> None:
        """Notes where a value stands. A key that stands twice has two values, and the last one counts."""
        if path in self.spans:
            self.problems[path] = "its name stands twice in the file"
            self.problems.setdefault(path[:-1], "a key stands twice in it")
        self.spans[path] = (start, end)


def read_config(text: str, format: Format) -> ConfigText:
    """Reads a configuration file's text, without its byte order mark.

    Raises:
        UsageError: it is malformed; with line and column.
    """
    readers = {"jsonc": _read_jsonc, "toml": _read_toml, "yaml": _read_yaml}
    return readers[format](text)


def _read_jsonc(text: str) -> ConfigText:
    """JSON as editors write it, with `//` and `/* */` comments and trailing commas."""
    # Blanks in the place of what JSON does not have keep every other sign where it is.
    plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    try:
        config = ConfigText(text, "jsonc", _DECODER.decode(plain))
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise UsageError(f"line {error.lineno}, column {error.colno}: {problem}.") from None
    except RecursionError:
        raise UsageError("it is nested too deeply.") from None
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    if isinstance(config.value, dict):
        _note_members(config, plain, _skip_space(plain, 0), ())
    return config


def _note_members(config: ConfigText, text: str, at: int, path: Keys) -> None:
    """Notes where the members of the object at `at` stand; the text has been accepted before."""
    at = _skip_space(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip_space(text, text.index(":", at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        config.note((*path, key), start, end)
        if len(path) + 1 < _DEPTH and isinstance(value, dict):
            _note_members(config, text, start, (*path, key))
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _blank(found: re.Match[str]) -> str:
    # A line break stays, for the line that an error names.
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])


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
    config = ConfigText(text, "yaml")
    try:
        root = parser.compose(text, Loader=yaml.SafeLoader)
        if root is not None:
            config.value = _yaml_value(root)
            _note_yaml(config, root, ())
            shared = [
                event.start_mark.index
                for event in parser.parse(text, Loader=yaml.SafeLoader)
                if getattr(event, "anchor", None) is not None
            ]
            for path, (start, end) in config.spans.items():
                if any(start <= at < end for at in shared):
                    why = "YAML aliases share parts of it; write them out"
                    config.problems.setdefault(path, why)
        return config
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise UsageError(f"{where}{error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise UsageError("it is nested too deeply, or an alias stands within its anchor.") from None


def _note_yaml(config: ConfigText, node: Any, path: Keys) -> int:
    """Notes where the members of a map stand, and gives the end of the last one."""
    end: int = node.end_mark.index
    members = cast("list[Any]", [] if node.id == "scalar" else node.value)
    for number, member in enumerate(members):
        key, value = member if node.id == "mapping" else (None, member)
        inner = (*path, str(number if key is None else key.value))
        start, last = value.start_mark.index, _note_yaml(config, value, inner)
        config.note(inner, start, last)
        if not node.flow_style:
            # The end mark of a block stands where the next thing begins.
            end = len(config.text[:last].rstrip())
    return end


def _yaml_value(node: Any) -> Any:
    from yaml.constructor import SafeConstructor

    if node.id == "mapping":
        return {str(key.value): _yaml_value(value) for key, value in node.value}
    if node.id == "sequence":
        return [_yaml_value(value) for value in node.value]
    # Tags of the client's own, and dates that are none, are text to us.
    if not str(node.tag).startswith("tag:yaml.org,2002:"):
        return node.value
    try:
        return cast("Any", SafeConstructor()).construct_object(node)
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
