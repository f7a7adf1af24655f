"""Which locator Playwright writes for an element, and which elements a selector names.

The choice follows `selectorGenerator.ts`: candidates by kind, each with a score that grows with its length; the
first that names the element alone wins, then one that does inside of a parent, then the first few of several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from agentworld_sim.engines.web.accessible_names import plain
from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.page_view import PageView

_NTH = 10_000
_MOST = 6
_LONGEST = 80
_SHORT = 30
_NAMED = ("button", "form", "fieldset", "input", "output", "select", "textarea")
_INTERACTIVE = ("button", "select", "input", "a")
_HAS_TEXT = re.compile(r"(?P<css>.*):has-text\((?P<text>\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*')\)\s*")
_VISIBLE_ONLY = re.compile(r"\s*>>\s*visible=(?:1|true)\s*$")
_PLAIN_CLASS = re.compile(r"-?[a-zA-Z_][\w-]*", re.ASCII)
_PLAIN_ID = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]+")


Find = Callable[[], list[Element]]


@dataclass(frozen=True, slots=True)
class _Candidate:
    scores: tuple[int, ...]
    """Of its parts; the least is the best."""
    code: str
    find: Find
    is_text: bool = False

    @property
    def score(self) -> int:
        """Earlier parts weigh more."""
        return sum(one * (len(self.scores) - at) for at, one in enumerate(self.scores))


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
    text = plain(found["text"][1:-1]).lower()
    elements = document.select(found["css"] or "*")
    return [one for one in elements if text in plain(one.text_content()).lower()]


class Locators:
    """The locators of one page."""

    def __init__(self, document: Document, tree: PageView) -> None:
        self._document, self._tree = document, tree
        self._elements_of: dict[str, list[Element]] = {}
        self._parents: dict[tuple[int, bool], _Candidate | None] = {}

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
        path = js_string(_path(self._document, element))
        return f"locator({path})" if found is None else found.code

    def visible_text(self, text: str) -> list[Element]:
        """The visible elements that `getByText` finds."""
        return [one for one in self._with_text(text, False) if self._tree.is_visible(one)]

    def _best(self, element: Element, *, no_text: bool, nested: bool) -> _Candidate | None:
        best: list[_Candidate] = []
        candidates = self._candidates(element, nested)
        for one in sorted(candidates, key=lambda one: one.score):
            found = [] if no_text and one.is_text else one.find()
            if element not in found:
                continue
            if len(found) == 1:
                best.append(one)
                break
            at = found.index(element)
            if at >= _MOST:
                continue
            best.append(_nth_of(one, at))
            for parent in () if nested else list(element.chain())[1:]:
                inside = [other for other in found if parent.index < other.index <= parent.last]
                place = inside.index(element)
                if len(inside) >= _MOST or (place == at and len(inside) > 1):
                    continue
                above = self._parent_best(parent, one.is_text)
                if above is not None:
                    last = None if len(inside) == 1 else place
                    scores = (*above.scores, *one.scores)
                    joined = _Candidate(scores, f"{above.code}.{one.code}", one.find)
                    best.append(joined if last is None else _nth_of(joined, last))
        return min(best, key=lambda one: one.score, default=None)

    def _parent_best(self, parent: Element, no_text: bool) -> _Candidate | None:
        key = (parent.index, no_text)
        if key not in self._parents:
            self._parents[key] = self._best(parent, no_text=no_text, nested=True)
        return self._parents[key]

    def _candidates(self, element: Element, nested: bool) -> Iterator[_Candidate]:
        tag, role = element.tag, self._tree.role_of(element)
        role = "" if role == "generic" else role
        yield from self._plain(element, role)
        if tag == "select":
            return
        if title := element.get("title"):
            yield next(self._by_attribute(200, "title", "getByTitle", title, is_text=True))
        if tag in ("img", "input", "area") and (alt := element.get("alt")):
            yield from self._by_attribute(160, "alt", "getByAltText", alt, is_text=True)
        text = self._texts[element]
        if text and not nested:
            exact, *others = self._by_text(180, "getByText({})", text, 3, self._with_text)
            yield from others
            if len(text) <= _LONGEST:
                yield exact
        if text:
            yield from self._by_inner_text(
                530, f"locator('{tag}')", self._of_tag(tag), text, nested
            )
        name = self._tree.name_of(element).strip() if role else ""
        if name:
            code = f"getByRole('{role}', {{{{ name: {{}} }}}})"
            find = partial(self._with_name, role)
            yield from self._by_text(100, code, name, len(role) + 10, find)
        elif role:
            own = f"getByRole('{role}')"
            yield from self._by_inner_text(510, own, lambda: self._of_role(role), text, nested)

    def _plain(self, element: Element, role: str) -> Iterator[_Candidate]:
        """What names an element without its texts."""
        tag, kind = element.tag, element.get("type")
        if marked := element.get("data-testid"):
            code = f"getByTestId({js_string(marked)})"
            yield _Candidate((1,), code, lambda: self._with("data-testid", marked, True))
        if identifier := element.get("id"):
            yield self._css(500, _id_selector(identifier))
        if tag in ("input", "textarea") and (text := element.get("placeholder")):
            yield from self._by_attribute(120, "placeholder", "getByPlaceholder", text)
        for label in self._labels(element):
            yield from self._by_text(
                140, "getByLabel({})", label, 3, self._with_label, is_text=False
            )
        if role:
            yield _Candidate((510,), f"getByRole('{role}')", lambda: self._of_role(role))
        if (name := element.get("name")) and tag in _NAMED:
            yield self._css(520, f"{tag}[name={json.dumps(name)}]")
        if kind and tag == "input":
            yield self._css(520, f"input[type={json.dumps(kind)}]")
        yield _Candidate((530,), f"locator('{tag}')", self._of_tag(tag))

    def _css(self, score: int, css: str) -> _Candidate:
        find = lambda: self._document.select(css)
        return _Candidate((score,), f"locator({js_string(css)})", find)

    def _by_attribute(
        self, score: int, name: str, method: str, value: str, *, is_text: bool = False
    ) -> Iterator[_Candidate]:
        find = partial(self._with, name)
        return self._by_text(score, f"{method}({{}})", value, len(name) + 6, find, is_text=is_text)

    def _by_text(
        self,
        score: int,
        code: str,
        text: str,
        more: int,
        find: Callable[[str, bool], list[Element]],
        *,
        is_text: bool = True,
    ) -> Iterator[_Candidate]:
        """A text exactly, then the texts that Playwright looks for instead; `more` is what is written beside it."""
        exactly = ", exact: true" if code.endswith(" }})") else ", { exact: true }"
        for short, bonus, exact in (
            (text, -5, True),
            *((*one, False) for one in _alternatives(text)),
        ):
            yield _Candidate(
                (score - bonus + _penalty(len(short) + more),),
                code.format(js_string(short) + exactly * exact),
                partial(find, short, exact),
                is_text,
            )

    def _with(self, attribute: str, text: str, exact: bool) -> list[Element]:
        return [one for one in self._document.elements if _fits(one.get(attribute), text, exact)]

    def _by_inner_text(
        self, score: int, code: str, find: Find, text: str, nested: bool
    ) -> Iterator[_Candidate]:
        """Elements of a kind by the text in them."""
        for short, bonus in _alternatives(text) if text else ():
            yield _Candidate(
                (score, 180 - bonus + _penalty(len(short) + 3)),
                f"{code}.filter({{ hasText: {js_string(short)} }})",
                lambda short=short: [one for one in find() if _fits(self._texts[one], short)],
                True,
            )
        if not nested and len(text) <= _LONGEST:
            regex = "/^" + re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", text) + "$/"
            yield _Candidate(
                (score, 250 + _penalty(len(text) + 4)),
                f"{code}.filter({{ hasText: {regex} }})",
                lambda: [one for one in find() if self._texts[one] == text],
                True,
            )

    def _of_tag(self, tag: str) -> Find:
        return lambda: [one for one in self._document.elements if one.tag == tag]

    def _of_role(self, role: str) -> list[Element]:
        if role not in self._elements_of:
            self._elements_of[role] = [
                one
                for one in self._document.elements
                if self._tree.role_of(one) == role and not self._tree.is_hidden(one)
            ]
        return self._elements_of[role]

    def _with_name(self, role: str, text: str, exact: bool) -> list[Element]:
        return [one for one in self._of_role(role) if _fits(self._tree.name_of(one), text, exact)]

    def _labels(self, element: Element) -> list[str]:
        found = [self._texts[one] for one in self._document.labels_of(element)]
        found.append(plain(element.get("aria-label")))
        named = self._document.references(element.get("aria-labelledby"))
        found += [self._texts[one] for one in named]
        return [one for one in found if one]

    def _with_label(self, text: str, exact: bool) -> list[Element]:
        return [
            one
            for one in self._document.elements
            if any(_fits(label, text, exact) for label in self._labels(one))
        ]

    @cached_property
    def _texts(self) -> dict[Element, str]:
        """The text in each element, also what is not shown."""
        raw: dict[Element, str] = {}
        for element in reversed(self._document.elements):
            parts = (one if isinstance(one, str) else raw[one] for one in element.children)
            is_button = element.tag == "input" and element.type in ("submit", "button", "reset")
            no_text = element.tag in ("script", "style", "noscript", "head", "title")
            raw[element] = element.get("value") if is_button else "" if no_text else "".join(parts)
        return {element: plain(text) for element, text in raw.items()}

    def _with_text(self, text: str, exact: bool) -> list[Element]:
        """The innermost elements with a text."""
        return [
            one
            for one in self._document.elements
            if one.tag != "html"
            and _fits(self._texts[one], text, exact)
            and not any(_fits(self._texts[child], text, exact) for child in one.elements)
        ]


def _fits(own: str, text: str, exact: bool = False) -> bool:
    return own == text if exact else text.lower() in own.lower()


def _nth_of(one: _Candidate, at: int) -> _Candidate:
    """One of several."""
    nth = f".nth({at})" if at else ".first()"
    return replace(one, scores=(*one.scores, _NTH), code=f"{one.code}{nth}")


def _penalty(length: int) -> int:
    return min(10, length // 10)


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


def _path(document: Document, element: Element) -> str:
    """A CSS path to an element from below, by ids, classes and places, for what nothing else names."""
    steps: list[str] = []
    for one in element.chain():
        siblings = list(one.parent.elements) if one.parent is not None else [one]
        same = [other for other in siblings if other.tag == one.tag]
        place = "" if same[0] is one else f":nth-child({siblings.index(one) + 1})"
        classes = one.get("class").split()
        classes = classes if all(map(_PLAIN_CLASS.fullmatch, classes)) else []
        tokens = [_id_selector(one.get("id"))] if one.get("id") else []
        tokens += [f".{'.'.join(classes[: last + 1])}" for last in range(len(classes))]
        best = ""
        for token in (*tokens, f"{one.tag}{place}"):
            found = document.select(" > ".join([token, *steps]))
            if found[:1] == [element]:
                return " > ".join([token, *steps])
            alone = [other for other in document.select(token) if other.parent is one.parent]
            best = best or (token if alone == [one] else "")
        steps.insert(0, best or f"{one.tag}{place}")
    return " > ".join(steps)


def _id_selector(name: str) -> str:
    return f"#{name}" if _PLAIN_ID.fullmatch(name) else f"[id={json.dumps(name)}]"
