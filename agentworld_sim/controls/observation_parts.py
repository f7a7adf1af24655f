"""The parts of an observation that controls change: fields, items, texts.

Structured content is changed, and so is the text: as JSON where it is JSON, else line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, cast

from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.turns import Observation

NOTHING = object()
"""Stands for a field that is not there."""

_FIELD = lazy_compile(r"(?m)^([ \t>*-]*)([\w][\w .-]*?)(\s*[:=]\s*)(\S.*)(\n|$)")
_PAIR = lazy_compile(r'"([^"\n]*)"(\s*:\s*)("(?:[^"\\\n]|\\.)*(?:"|$)|[^\s,{}\[\]"]+)(\s*,\s*)?')
_NUMBER = lazy_compile(r"-?\d+(?:\.\d+)?")


def with_text(observation: Observation, text: str) -> Observation:
    """The same with another text, which is then all that a reader sees beside structured content."""
    return observation if text == observation.text else replace(observation, text=text, content=())


def change_parts(
    observation: Observation, change: Callable[[Any], Any], change_text: Callable[[str], str]
) -> Observation:
    """The same with its JSON changed by `change`, in the text and in the structured content, and a text that is none
    by `change_text`."""
    before = observation.text
    value = _json_of(before)
    if value is NOTHING:
        observation = with_text(observation, change_text(before))
    elif (new := change(value)) != value:
        observation = with_text(observation, _as_before(before, new))
    if observation.structured is not None:
        structured = change(observation.structured)
        if structured != observation.structured:
            observation = replace(observation, structured=structured, content=())
    return observation


def change_fields(
    observation: Observation, fields: Sequence[str], change: Callable[[str, Any], Any]
) -> Observation:
    """The same with the fields changed whose names fit one of the patterns; one for which `change` gives `NOTHING` is
    taken out. In a text that is no JSON, fields are lines such as `name: value`, and what is left of JSON that was cut."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        held = cast("dict[str, Any]", value)
        made = {
            name: change(name, one) if fits_one(name, fields) else walk(one)
            for name, one in held.items()
        }
        return {name: one for name, one in made.items() if one is not NOTHING}

    def line(found: re.Match[str]) -> str:
        before, name, between, text, end = found.groups()
        if not fits_one(name, fields):
            return found[0]
        number = _NUMBER.match(text)
        value = json.loads(number[0]) if number else text
        new = change(name, value)
        if new is NOTHING:
            return ""
        rest = text[number.end() :] if number else ""
        return (
            f"{before}{name}{between}{new if isinstance(new, str) else json.dumps(new)}{rest}{end}"
        )

    def pair(found: re.Match[str]) -> str:
        name, between, text, end = found.groups("")
        if not fits_one(name, fields):
            return found[0]
        try:
            value = json.loads(text)
        except ValueError:
            value = text.strip('"')
        new = change(name, value)
        if new == value:
            return found[0]
        return "" if new is NOTHING else f'"{name}"{between}{json.dumps(new)}{end}'

    # JSON of which something was cut is none, and has fields all the same.
    return change_parts(observation, walk, lambda text: _PAIR.sub(pair, _FIELD.sub(line, text)))


def change_items(observation: Observation, change: Callable[[list[Any]], list[Any]]) -> Observation:
    """The same with its items changed: those of a JSON list, or of the longest list that a JSON object has, or
    the lines of a text."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return change(cast("list[Any]", value))
        if not isinstance(value, dict):
            return value
        held = cast("dict[str, Any]", value)
        lists = [name for name, one in held.items() if isinstance(one, list)]
        if not lists:
            return held
        longest = max(lists, key=lambda name: len(held[name]))
        return {**held, longest: change(held[longest])}

    def of_lines(text: str) -> str:
        lines = change(text.splitlines())
        return "\n".join(lines) + ("\n" if lines and text.endswith("\n") else "")

    return change_parts(observation, walk, of_lines)


def change_texts(
    observation: Observation, change: Callable[[str], str], keep: Sequence[str] = ()
) -> Observation:
    """The same with every text changed, the names of fields and what numbers look like too. Of JSON, fields whose names fit
    a pattern of `keep` are left alone."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {
                name if fits_one(name, keep) else change(name): one
                if fits_one(name, keep)
                else walk(one)
                for name, one in cast("dict[str, Any]", value).items()
            }
        if isinstance(value, str):
            return change(value)
        shown = json.dumps(value)
        return value if change(shown) == shown else change(shown)

    blocks = [dict(block) for block in observation.content]
    if blocks and walk(blocks) != blocks:
        observation = replace(observation, content=())
    return change_parts(observation, walk, change)


def without_lines(
    observation: Observation, says: Callable[[str], object], keep: Sequence[str] = ()
) -> Observation:
    """The same without the lines, of the text or of the texts of JSON, about which `says` is true; all of a text where it
    is true of several lines together. Fields whose names fit a pattern of `keep` are left alone."""

    def is_kept(line: str) -> bool:
        found = _FIELD.match(line)
        return found is not None and fits_one(found[2], keep)

    def cut(text: str) -> str:
        lines = [one for one in text.splitlines(keepends=True) if is_kept(one) or not says(one)]
        if says("".join(one for one in lines if not is_kept(one))):
            lines = [one for one in lines if is_kept(one)]
        return "".join(lines)

    return change_texts(observation, cut, keep)


def fits_one(name: str, patterns: Sequence[str]) -> bool:
    """Whether a field's name fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _json_of(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return NOTHING
    try:
        return json.loads(text)
    except ValueError:
        return NOTHING


def _as_before(text: str, value: Any) -> str:
    """`value` as JSON in the layout that `text` has."""
    indent = re.search(r"\n( +)", text)
    spacious = indent or '": ' in text or ", " in text
    between = None if spacious else (",", ":")
    made = json.dumps(
        value, ensure_ascii=False, indent=len(indent[1]) if indent else None, separators=between
    )
    return made + ("\n" if text.endswith("\n") else "")
