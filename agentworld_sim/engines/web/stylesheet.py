"""Style sheets, as far as they decide what an accessibility tree shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from agentworld_sim.extras import require

EXTRA = "browser"

PROPERTIES = frozenset(
    "border border-bottom border-bottom-width border-left border-left-width border-right border-right-width"
    " border-top border-top-width border-width bottom clear content content-visibility cursor display flex"
    " flex-direction flex-flow flex-grow float height inset left list-style list-style-type margin max-height max-width"
    " min-height min-width overflow padding-bottom padding-left padding-right padding-top pointer-events position"
    " right top transform visibility width".split()
)
_SIDES = {"padding": ("padding-top", "padding-right", "padding-bottom", "padding-left")}
"""Properties that stand for four others."""

_TOKEN = re.compile(r"""/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[;{}]""", re.DOTALL)
_PSEUDO_ELEMENT = re.compile(
    r"(?<!\\)(::[-\w]+(?:\([^)]*\))?|:(?:before|after|first-line|first-letter)\b)"
)
_NEEDS = re.compile(r"([.#]?)((?:[\w-]|\\.)+)")
_ARGUMENTS = re.compile(r"\[[^\]]*\]|:[-\w]+(?:\((?:[^()]|\([^()]*\))*\))?")
_LENGTH = re.compile(
    r"(min|max)-width\s*:\s*([\d.]+)\s*(px|em|rem)?|width\s*(<=?|>=?)\s*([\d.]+)\s*(px|em|rem)?"
)
_STATE = re.compile(r":(?:checked|focus|focus-within|focus-visible)\b|\[open\]")

_AT_RULE = re.compile(r"@([-\w]*)\s*(.*)", re.DOTALL)
_GROUPS = frozenset(("supports", "layer", "container", "scope"))
"""At-rules whose rules are taken as if they held."""

MAX_NESTING = 8
"""Rules in more rules than these are left out."""

Declarations = tuple[tuple[str, str], ...]


class Rule(NamedTuple):
    """What a selector declares: in the order of the cascade if sorted by `specificity`, first to last."""

    specificity: tuple[int, int, int]
    selector: str
    pseudo: str
    """`before`, `after` or nothing."""
    needs: tuple[str, ...]
    """Tags, `.classes` and `#ids` that a page must have for the selector to match anything."""
    depends_on_state: bool
    """Whether what is checked, open or in focus can change what matches."""
    normal: Declarations
    important: Declarations


def split_list(text: str) -> list[str]:
    """The parts between the commas that stand outside of brackets and strings."""
    parts, depth, start, quote = list[str](), 0, 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[place - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:])]


def media_matches(query: str, width: int) -> bool:
    """Whether a media query holds for a screen with a mouse that is `width` pixels wide."""
    return any(_one_media_matches(part.lower(), width) for part in split_list(query))


def _one_media_matches(query: str, width: int) -> bool:
    holds = True
    for found in _LENGTH.finditer(query):
        edge, low, low_unit, sign, high, high_unit = found.groups()
        pixels = float(low or high) * (16 if (low_unit or high_unit) in ("em", "rem") else 1)
        if edge == "min" or (sign or "").startswith(">"):
            holds &= width > pixels if sign == ">" else width >= pixels
        else:
            holds &= width < pixels if sign == "<" else width <= pixels
    for feature, value in re.findall(r"\(\s*([a-z-]+)\s*(?::\s*([^)]*?)\s*)?\)", query):
        if feature in _FEATURES:
            ours = _FEATURES[feature]
            holds &= value == ours if value else ours not in ("none", "no-preference")
    holds &= not re.search(r"\b(?:print|speech|tty|tv|projection|handheld)\b", query)
    return not holds if query.strip().startswith("not ") else holds


_FEATURES = {
    feature: value
    for feature, value in (
        part.split(":")
        for part in "any-hover:hover any-pointer:fine forced-colors:none hover:hover orientation:landscape pointer:fine"
        " prefers-color-scheme:light prefers-contrast:no-preference prefers-reduced-motion:no-preference"
        " prefers-reduced-transparency:no-preference scripting:enabled update:fast".split()
    )
}
"""What a browser without preferences says of itself."""


def _style_rules(
    text: str, width: int, around: str = "", level: int = 0
) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of the rules that hold, from inside of other rules and media queries too.

    Args:
        text: A sheet, or what is between the braces of a rule.
        width: Of the screen, in pixels.
        around: The selector of the rule that the text is in.
        level: How many braces it is in.
    """
    if level > MAX_NESTING:
        return
    place, declared = 0, list[str]()
    while place < len(text):
        prelude, place, mark = _until(text, place, ";{}")
        if mark != "{":
            declared.append(prelude)
            continue
        body, place = _block(text, place)
        prelude = prelude.strip()
        if not prelude.startswith("@"):
            selector = _inner_selector(prelude, around) if around else prelude
            yield from _style_rules(body, width, selector, level + 1)
            continue
        keyword, query = prelude[1:], ""
        if found := _AT_RULE.fullmatch(prelude):
            keyword, query = found[1].lower(), found[2]
        if keyword in _GROUPS or (keyword == "media" and media_matches(query, width)):
            yield from _style_rules(body, width, around, level + 1)
    if around and any(declared):
        yield around, ";".join(declared)


def _inner_selector(selectors: str, around: str) -> str:
    """The selector of a rule in a rule: `&` is what the outer one matches."""
    outer = f":is({around})"
    return ",".join(
        one.replace("&", outer) if "&" in one else f"{outer} {one}" for one in split_list(selectors)
    )


def _until(text: str, place: int, marks: str) -> tuple[str, int, str]:
    """What stands before the first of the marks outside of strings, without comments."""
    parts = list[str]()
    for found in _TOKEN.finditer(text, place):
        token = found[0]
        if token[0] == "/":
            parts.append(text[place : found.start()])
            place = found.end()
        elif token in marks:
            parts.append(text[place : found.start()])
            return "".join(parts), found.end(), token
    return "".join(parts) + text[place:], len(text), ""


def _block(text: str, place: int) -> tuple[str, int]:
    """The inside of the braces that opened before `place`, and the place after them."""
    depth, start = 1, place
    for found in _TOKEN.finditer(text, place):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return text[start : found.start()], found.end()
    return text[start:], len(text)


def declarations(text: str) -> tuple[Declarations, Declarations]:
    """The normal and the important declarations of a body, of the properties that matter here."""
    require("turbohtml", extra=EXTRA)
    from turbohtml.cssom import StyleDeclaration

    style = StyleDeclaration.parse(text)
    normal, important = list[tuple[str, str]](), list[tuple[str, str]]()
    for name in style.properties():
        into, value = important if style.important(name) else normal, style[name]
        name = name.lower()
        if name in _SIDES:
            into += zip(_SIDES[name], _four(value.lower().split()), strict=True)
        elif name in PROPERTIES:
            into.append((name, value if name == "content" else value.lower()))
    return tuple(normal), tuple(important)


def _four(values: list[str]) -> list[str]:
    """The values of top, right, bottom and left, where those that are the same need not be repeated."""
    match values:
        case [top, right, bottom, left]:
            return [top, right, bottom, left]
        case [top, right, bottom]:
            return [top, right, bottom, right]
        case [top, right]:
            return [top, right, top, right]
        case _:  # one, or a function with spaces in it
            return [" ".join(values)] * 4


@lru_cache(maxsize=256)
def rules_of(text: str, width: int) -> tuple[Rule, ...]:
    """The rules of a sheet that can change an accessibility tree on a screen `width` pixels wide.

    A rule with a selector that is not understood is left out, as browsers do.
    """
    require("turbohtml", extra=EXTRA)
    from turbohtml.convert import css_specificity

    rules = list[Rule]()
    for selectors, body in _style_rules(text, width):
        normal, important = declarations(body)
        if not normal and not important:
            continue
        some = list[Rule]()
        try:
            for written in split_list(selectors):
                pseudo = _PSEUDO_ELEMENT.search(written)
                kind = pseudo[0].lstrip(":").lower() if pseudo else ""
                if kind not in ("", "before", "after"):
                    continue
                selector = (written[: pseudo.start()] if pseudo else written) or "*"
                if selector[-1] in " >+~":
                    selector += "*"
                (specificity,) = css_specificity(selector)
                some.append(
                    Rule(
                        (specificity[0], specificity[1], specificity[2] + bool(kind)),
                        selector,
                        kind,
                        _needs(selector),
                        _STATE.search(selector) is not None,
                        normal,
                        important,
                    )
                )
        except ValueError:
            continue
        rules += some
    return tuple(rules)


def _needs(selector: str) -> tuple[str, ...]:
    plain = _ARGUMENTS.sub("", selector)
    return tuple(
        kind + (name if kind else name.lower())
        for kind, name in _NEEDS.findall(plain)
        if "\\" not in name
    )
