"""Which locator Playwright writes for an element, and which elements a selector names.

The choice follows `selectorGenerator.ts`: candidates by kind, each with a score that grows with its length; the
first that names the element alone wins, then one that does inside of a parent, then the first few of several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.page import Page

_NTH = 10_000
_MOST = 6
_LONGEST = 80
_SHORT = 30
_INTERACTIVE = ("button", "select", "input", "a")
_HAS_TEXT = re.compile(r"(?P<css>.*):has-text\((?P<text>\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*')\)\s*")
_VISIBLE_ONLY = re.compile(r"\s*>>\s*visible=(?:1|true)\s*$")
_PLAIN_ID = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: int
    code: str
    elements: list[Element]
    is_text: bool


def js_string(text: str, quote: str = "'") -> str:
    """`text` as JavaScript writes it."""
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return quote + inner.replace(quote, "\\" + quote) + quote


def select(document: Document, selector: str) -> list[Element]:
    """The elements that a selector names: CSS, with Playwright's `:has-text("…")` at its end.

    Raises:
        UsageError: it is no such selector.
    """
    css = _VISIBLE_ONLY.sub("", selector).removeprefix("css=")
    found = _HAS_TEXT.fullmatch(css)
    if found is None:
        return document.select(css)
    text = _normal(found["text"][1:-1]).lower()
    elements = document.select(found["css"] or "*")
    return [one for one in elements if text in _normal(one.text_content()).lower()]


class Locators:
    """The locators of one page."""

    def __init__(self, document: Document, tree: Page) -> None:
        self._document, self._tree = document, tree
        self._elements_of: dict[str, list[Element]] = {}

    def of(self, element: Element) -> str:
        """The locator of an element, `getByRole('button', { name: 'Send' })`."""
        if element.tag not in ("input", "textarea", "select"):
            roles = ("button", "checkbox", "radio", "link")
            around = (
                one
                for one in element.chain()
                if one.tag in _INTERACTIVE or one.get("role") in roles
            )
            element = next(around, element)
        found = self._best(element, no_text=False, nested=False)
        return f"locator({js_string(_path(element))})" if found is None else found[1]

    def visible_text(self, text: str) -> list[Element]:
        """The visible elements that `getByText` finds."""
        return [one for one in self._with_text(text, False) if self._tree.is_visible(one)]

    def _best(self, element: Element, *, no_text: bool, nested: bool) -> tuple[int, str] | None:
        if element.tag in ("html", "body"):
            return 530, f"locator('{element.tag}')"
        best: tuple[int, str] | None = None
        candidates = [
            one for one in self._candidates(element, nested) if not (no_text and one.is_text)
        ]
        for one in sorted(candidates, key=lambda one: one.score):
            if element not in one.elements:
                continue
            if len(one.elements) == 1:
                return min(best or (1 << 31, ""), (one.score, one.code))
            at = one.elements.index(element)
            if at >= _MOST:
                continue
            best = min(best or (1 << 31, ""), (one.score + _NTH, one.code + _nth(at)))
            for parent in () if nested else list(element.chain())[1:]:
                inside = [
                    other
                    for other in one.elements
                    if parent in other.chain() and other is not parent
                ]
                if len(inside) > 1:
                    continue
                above = self._best(parent, no_text=one.is_text, nested=True)
                if above is not None:
                    best = min(best, (2 * above[0] + one.score, f"{above[1]}.{one.code}"))
        return best

    def _candidates(self, element: Element, nested: bool) -> Iterator[_Candidate]:
        role, tag, name = self._tree.role_of(element), element.tag, element.get("name")
        role = "" if role == "generic" else role
        for label in self._labels(element):
            yield from self._texts(140, "getByLabel({})", label, self._with_label)
        if tag in ("input", "textarea") and element.get("placeholder"):
            yield from self._texts(
                120,
                "getByPlaceholder({})",
                element.get("placeholder"),
                self._attribute("placeholder"),
            )
        if _PLAIN_ID.fullmatch(element.get("id")):
            css = f"#{element.get('id')}"
            yield _Candidate(500, f"locator('{css}')", self._document.select(css), is_text=False)
        if role:
            yield _Candidate(510, f"getByRole('{role}')", self._of_role(role), is_text=False)
        if name and tag in ("button", "form", "fieldset", "input", "output", "select", "textarea"):
            css = f"{tag}[name={json.dumps(name)}]"
            yield _Candidate(
                520, f"locator({js_string(css)})", self._attribute("name")(name, True), False
            )
        same = [one for one in self._document.elements if one.tag == tag]
        yield _Candidate(530, f"locator('{tag}')", same, is_text=False)
        if tag == "select":
            return
        if title := element.get("title"):
            yield self._exact(200, "getByTitle({})", title, self._attribute("title"))
        if tag in ("img", "input", "area") and element.get("alt"):
            yield from self._texts(
                160, "getByAltText({})", element.get("alt"), self._attribute("alt")
            )
        text = _normal(self._shown_text(element))
        if text and not nested:
            if len(text) <= _LONGEST:
                yield self._exact(180, "getByText({})", text, self._with_text)
            for alternative, bonus in _alternatives(text):
                yield self._loose(180 - bonus, "getByText({})", alternative, self._with_text)
            if len(text) <= _LONGEST:
                regex = "/^" + re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", text) + "$/"
                code = f"locator('{tag}').filter({{ hasText: {regex} }})"
                equal = [one for one in same if _normal(self._shown_text(one)) == text]
                yield _Candidate(2 * 530 + 250, code, equal, is_text=True)
        label = self._tree.name_of(element) if role else ""
        if role and label:
            code = f"getByRole('{role}', {{ name: {{}} }})"
            yield from self._texts(
                100,
                code,
                label,
                lambda text, exact: self._with_name(role, text, exact),
                len(role) + 9,
            )

    def _texts(
        self,
        score: int,
        code: str,
        text: str,
        find: Callable[[str, bool], list[Element]],
        more: int = 0,
    ) -> Iterator[_Candidate]:
        yield self._exact(score, code, text, find, more)
        for alternative, bonus in _alternatives(text):
            yield self._loose(score - bonus, code, alternative, find, more)

    def _exact(
        self,
        score: int,
        code: str,
        text: str,
        find: Callable[[str, bool], list[Element]],
        more: int = 0,
    ) -> _Candidate:
        joined = code.replace("{} }", "{}, exact: true }")
        written = js_string(text) if joined != code else f"{js_string(text)}, {{ exact: true }}"
        elements = find(text, True)
        return _Candidate(
            score + 5 + _penalty(text, more),
            joined.replace("{}", written),
            elements,
            is_text=score != 140,
        )

    def _loose(
        self,
        score: int,
        code: str,
        text: str,
        find: Callable[[str, bool], list[Element]],
        more: int = 0,
    ) -> _Candidate:
        written = code.replace("{}", js_string(text))
        is_text = not code.startswith(("getByLabel", "getByPlaceholder"))
        return _Candidate(score + _penalty(text, more), written, find(text, False), is_text)

    def _of_role(self, role: str) -> list[Element]:
        if role not in self._elements_of:
            self._elements_of[role] = [
                one
                for one in self._document.elements
                if self._tree.role_of(one) == role and self._tree.is_visible(one)
            ]
        return self._elements_of[role]

    def _with_name(self, role: str, text: str, exact: bool) -> list[Element]:
        return [one for one in self._of_role(role) if _fits(self._tree.name_of(one), text, exact)]

    def _labels(self, element: Element) -> list[str]:
        found = [_normal(self._shown_text(one)) for one in self._document.labels_of(element)]
        found.append(_normal(element.get("aria-label")))
        named = self._document.references(element.get("aria-labelledby"))
        found += [_normal(self._shown_text(one)) for one in named]
        return [one for one in found if one]

    def _with_label(self, text: str, exact: bool) -> list[Element]:
        return [
            one
            for one in self._document.elements
            if any(_fits(label, text, exact) for label in self._labels(one))
        ]

    def _attribute(self, name: str) -> Callable[[str, bool], list[Element]]:
        return lambda text, exact: [
            one for one in self._document.elements if text and _fits(one.get(name), text, exact)
        ]

    @cached_property
    def _all_texts(self) -> dict[Element, str]:
        found: dict[Element, str] = {}
        for element in reversed(self._document.elements):
            if element.tag in ("script", "style", "noscript"):
                found[element] = ""
                continue
            parts = (one if isinstance(one, str) else found[one] for one in element.children)
            is_button = element.tag == "input" and element.type in ("submit", "button")
            found[element] = element.get("value") if is_button else "".join(parts)
        return found

    def _shown_text(self, element: Element) -> str:
        return self._all_texts[element]

    def _with_text(self, text: str, exact: bool) -> list[Element]:
        """The innermost elements with a text."""
        found = {
            one: one.tag not in ("head", "title", "html") and _fits(_normal(own), text, exact)
            for one, own in self._all_texts.items()
        }
        return [
            one
            for one in self._document.elements
            if found[one] and not any(found[child] for child in one.elements)
        ]


def _normal(text: str) -> str:
    return " ".join(text.split())


def _fits(own: str, text: str, exact: bool) -> bool:
    return own == text if exact else text.lower() in own.lower()


def _nth(at: int) -> str:
    return f".nth({at})" if at else ".first()"


def _penalty(text: str, more: int) -> int:
    return min(10, (len(text) + more + 4) // 10)


def _alternatives(text: str) -> list[tuple[str, int]]:
    """The shorter texts that Playwright looks for instead, with what each is better by."""
    found: list[tuple[str, int]] = []
    for number in (r"^[\d.,]+(?=[^.,\w])", r"(?<=[^.,\w])[\d.,]+$"):
        rest = re.sub(number, "", text, flags=re.ASCII).strip()
        if rest != text:
            short = _cut(rest, _LONGEST)
            found.append((short, 2 if len(short) <= _SHORT else 1))
    if len(text) <= _SHORT:
        found.append((text, 0))
    else:
        found += [(_cut(text, _LONGEST), 0), (_cut(text, _SHORT), 1)]
    return [one for one in found if one[0]] or [(text[:_LONGEST], 0)]


def _cut(text: str, longest: int) -> str:
    """`text` up to a word's end."""
    if len(text) <= longest:
        return text
    found = re.match(r"(.*)\b.+?$", text[:longest], re.ASCII | re.DOTALL)
    return found[1].rstrip() if found else ""


def _path(element: Element) -> str:
    """A CSS path to an element, for what nothing else names."""
    steps: list[str] = []
    for one in element.chain():
        if one.tag in ("html", "body"):
            steps.append(one.tag)
            break
        if _PLAIN_ID.fullmatch(one.get("id")):
            steps.append(f"#{one.get('id')}")
            break
        siblings = list(one.parent.elements) if one.parent is not None else [one]
        same = [other for other in siblings if other.tag == one.tag]
        steps.append(
            one.tag if same[0] is one else f"{one.tag}:nth-child({siblings.index(one) + 1})"
        )
    return " > ".join(reversed(steps))
