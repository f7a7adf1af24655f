"""What is kept beside a page: values, checks, choices, what is open, where the focus is; and its refs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from math import isinf

from agentworld_sim.engines.web.document import FOCUS, Document, Element, Mark

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = r"\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?"
_VALID_VALUES = {
    "number": _NUMBER,
    "color": re.compile(r"#[0-9a-fA-F]{6}"),
    "date": re.compile(_DATE),
    "month": re.compile(r"\d{4,}-(?:0[1-9]|1[0-2])"),
    "week": re.compile(r"\d{4,}-W(?:0[1-9]|[1-4]\d|5[0-3])"),
    "time": re.compile(_TIME),
    "datetime-local": re.compile(f"{_DATE}[T ]{_TIME}"),
}
"""What the value of a control may be; anything else is no value."""
_DEFAULT_VALUES = {"color": "#000000", "checkbox": "on", "radio": "on"}
_LINE_BREAKS = re.compile("[\r\n]")


@dataclass
class LiveState:
    """Changes by the number of an element, plain data; what is not here is as the page was written."""

    values: dict[int, str] = field(default_factory=dict[int, str])
    checked: dict[int, bool] = field(default_factory=dict[int, bool])
    selected: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Of a select: which of its options, counted from 0."""
    open: dict[int, bool] = field(default_factory=dict[int, bool])
    """Of `details` and `dialog`."""
    focus: int | None = None
    """The element in focus; None is where the page puts it."""

    def value_of(self, control: Element) -> str:
        """The value of an input, a textarea or a select, as scripts of a page would read it."""
        if (value := self.values.get(control.index)) is not None:
            return value
        if control.tag == "textarea":
            return control.text_content()
        if control.tag == "select":
            chosen = self.selected_options(control)
            return value_of_option(chosen[0]) if chosen else ""
        value, kind = control.attributes.get("value"), control.type
        if kind == "range":
            return _range_value(control)
        if value is None or (kind in _VALID_VALUES and not _VALID_VALUES[kind].fullmatch(value)):
            return _DEFAULT_VALUES.get(kind, "")
        if kind == "color":
            return value.lower()
        return (
            value
            if kind in ("hidden", "submit", "button", "reset")
            else _LINE_BREAKS.sub("", value)
        )

    def is_checked(self, control: Element, document: Document) -> bool:
        """Whether a checkbox or a radio button is checked."""
        if (checked := self.checked.get(control.index)) is not None:
            return checked
        if "checked" not in control.attributes or control.type != "radio":
            return "checked" in control.attributes
        group = document.radio_group(control)
        if any(self.checked.get(one.index) for one in group):
            return False
        return control is [one for one in group if "checked" in one.attributes][-1]

    def selected_options(self, select: Element) -> list[Element]:
        options = list(select.descendants("option"))
        if (chosen := self.selected.get(select.index)) is not None:
            return [options[number] for number in chosen if number < len(options)]
        marked = [option for option in options if "selected" in option.attributes]
        if "multiple" in select.attributes:
            return marked
        if marked or is_listbox(select):
            return marked[-1:]
        return [option for option in options if not _is_left_out(option)][:1]

    def marks(self) -> list[Mark]:
        """The changes that style sheets can see."""
        changes = [(index, "checked", held) for index, held in self.checked.items()]
        changes += [(index, "open", held) for index, held in self.open.items()]
        return [*changes, (self.focus, FOCUS, True)] if self.focus is not None else changes

    def is_open(self, element: Element) -> bool:
        """Whether a `details` or a `dialog` is open."""
        return self.open.get(element.index, "open" in element.attributes)


def is_listbox(select: Element) -> bool:
    """Whether a select shows its options as a list, not as a button that opens one."""
    return "multiple" in select.attributes or (select.whole_number("size") or 0) > 1


def _is_left_out(option: Element) -> bool:
    """Whether an option is not chosen by itself; unlike its state, that asks no `fieldset`."""
    group = option.parent if option.parent and option.parent.tag == "optgroup" else option
    return "disabled" in option.attributes or "disabled" in group.attributes


def value_of_option(option: Element) -> str:
    written = option.attributes.get("value")
    return " ".join(option.text_content().split()) if written is None else written


@dataclass
class RefBook:
    """The refs of one document, plain data: a ref stays with its element while role and name stay.

    Playwright from 1.64 on puts a prefix before the refs of every document but the first, so that an old ref cannot
    hit another page.
    """

    prefix: str = ""
    last: int = 0
    """The newest number."""
    given: dict[int, tuple[str, str, str]] = field(default_factory=dict[int, tuple[str, str, str]])
    """Role, name and ref, by the number of the element."""

    def give(self, index: int, role: str, name: str) -> str:
        """The ref of an element; a new one if it has none, or another role or name than it had."""
        known = self.given.get(index)
        if known is None or known[0] != role or known[1] != name:
            self.last += 1
            known = self.given[index] = (role, name, f"{self.prefix}e{self.last}")
        return known[2]


def number_of(text: str) -> Fraction | None:
    """A number as HTML writes it; `None` where it is none, or one that is too large for browsers."""
    if not _NUMBER.fullmatch(text) or isinf(value := float(text)):
        return None
    return Fraction(text) if value else Fraction(0)  # 1e-999999999 takes gigabytes


def _range_value(control: Element) -> str:
    def number(attribute: str, default: Fraction) -> Fraction:
        found = number_of(control.get(attribute))
        return default if found is None else found

    low = number("min", Fraction(0))
    high = max(number("max", Fraction(100)), low)
    value = min(max(number("value", (low + high) / 2), low), high)
    return f"{float(value):.10g}"
