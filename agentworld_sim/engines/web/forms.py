"""Forms as browsers send them (HTML standard, "Form submission" and "Constraint validation")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentworld_sim.engines.web.document import Document, Element
from agentworld_sim.engines.web.live_state import (
    LiveState,
    number_of,
    value_of_option,
)
from agentworld_sim.engines.web.requests import (
    FormField,
    Upload,
    WebRequest,
    form_body,
    resolve_url,
    url_with_query,
)

CONTROLS = ("input", "select", "textarea", "button")
TOGGLES = frozenset(["checkbox", "radio"])
_BUTTONS = frozenset(["submit", "image", "button", "reset"])
_NO_TEXT = _BUTTONS | TOGGLES | {"hidden", "file", "color", "range"}
_EMAIL = re.compile(r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")
_PATTERN_PART = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]|[()|*+{]", re.DOTALL)
_MOST_REPEATS = 3
_LONGEST = 200
"""Characters of a value that are held against a page's own pattern."""
_NUMBERS = frozenset(["number", "range"])
_ORDERED = frozenset(["date", "month", "week", "time", "datetime-local"])


@dataclass(slots=True)
class PageForms:
    """The forms of a page, with what is in their controls now."""

    document: Document
    live: LiveState
    files: Mapping[int, tuple[Upload, ...]] = field(default_factory=dict[int, "tuple[Upload, ...]"])
    """What was chosen in file inputs, by their index."""

    def controls(self, form: Element) -> Iterator[Element]:
        """The controls that belong to a form, in document order."""
        return (
            one
            for one in self.document.elements
            if one.tag in CONTROLS and self.document.form_of(one) is form
        )

    def submitter(self, form: Element) -> Element | None:
        """The button that Enter presses."""
        return next((one for one in self.controls(form) if is_submit_button(one)), None)

    def sends_on_enter(self, form: Element) -> bool:
        """Whether Enter in a field sends a form that has no button: it has one field only."""
        fields = [one for one in self.controls(form) if one.tag == "input" and is_text(one)]
        return len(fields) <= 1

    def invalid(self, form: Element) -> Element | None:
        """The first control that keeps a form from being sent."""
        return next((one for one in self.controls(form) if not self._is_valid(one)), None)

    def reset(self, form: Element) -> None:
        """Puts the controls back to what the page says."""
        for control in self.controls(form):
            self.live.values.pop(control.index, None)
            self.live.checked.pop(control.index, None)
            self.live.selected.pop(control.index, None)

    def request(self, form: Element, submitter: Element | None, url: str) -> WebRequest | None:
        """The request that sends a form from the page at `url`; `None` where it goes nowhere."""

        def setting(name: str) -> str:
            own = submitter.get(f"form{name}") if submitter is not None else ""
            return own or form.get(name)

        action = resolve_url(url, setting("action") or url)
        if not action.startswith(("http://", "https://")):
            return None
        fields = list(self.fields(form, submitter))
        if setting("method").strip().lower() != "post":
            return WebRequest(url_with_query(action, fields))
        body, kind = form_body(fields, setting("enctype").strip().lower())
        return WebRequest(action, "POST", (("content-type", kind),), body)

    def fields(self, form: Element, submitter: Element | None) -> Iterator[FormField]:
        """What a form sends."""
        for one in self.controls(form):
            name, kind = one.get("name"), one.type
            if one.is_natively_disabled or one.closest("datalist") is not None:
                continue
            if one.tag == "input" and kind == "image":
                if one is submitter:
                    yield from ((f"{name}.{axis}" if name else axis, "0") for axis in "xy")
            elif not name:
                continue
            elif one.tag == "button" or (one.tag == "input" and kind in _BUTTONS):
                if one is submitter:
                    yield name, one.get("value")
            elif one.tag == "select":
                for option in self.live.selected_options(one):
                    if not option.is_natively_disabled:
                        yield name, value_of_option(option)
            elif one.tag == "input" and kind in TOGGLES:
                if self.live.is_checked(one, self.document):
                    yield name, one.attributes.get("value", "on")
            elif one.tag == "input" and kind == "file":
                nothing = (Upload("", "application/octet-stream", b""),)
                yield from ((name, file) for file in self.files.get(one.index) or nothing)
            else:
                yield name, self.live.value_of(one)

    def _is_valid(self, control: Element) -> bool:
        kind = control.type if control.tag == "input" else control.tag
        if control.is_natively_disabled or kind in _BUTTONS | {"hidden"}:
            return True
        if "readonly" in control.attributes and kind not in TOGGLES | {"select", "file"}:
            return True
        required = "required" in control.attributes
        if kind == "radio":
            return self._is_radio_valid(control)
        if kind == "checkbox":
            return not required or self.live.is_checked(control, self.document)
        if kind == "file":
            return not required or bool(self.files.get(control.index))
        if kind == "select":
            chosen = self.live.selected_options(control)
            return not required or any(value_of_option(one) for one in chosen)
        value = self.live.value_of(control)
        if not value:
            return not required
        return self._has_length(control, value) and _fits_type(control, kind, value)

    def _is_radio_valid(self, control: Element) -> bool:
        group = self.document.radio_group(control)
        # The first one answers for its group.
        needed = control is group[0] and any("required" in one.attributes for one in group)
        return not needed or any(self.live.is_checked(one, self.document) for one in group)

    def _has_length(self, control: Element, value: str) -> bool:
        if control.index not in self.live.values:
            # Lengths are those of what a person typed.
            return True
        length = len(value.encode("utf-16-le")) // 2
        least, most = control.whole_number("minlength"), control.whole_number("maxlength")
        return (least or 0) <= length and (most is None or most < 0 or length <= most)


def page_pattern(text: str, flags: int = 0) -> re.Pattern[str] | None:
    """A regular expression that a page or an agent gives; `None` where it is none, or one that could take
    forever: a choice or a repetition that is repeated, or many repetitions."""
    groups, repeats = [False], 0
    for part in _PATTERN_PART.finditer(text):
        if part[0] == "(":
            groups.append(False)
        elif part[0] in ("*", "+", "{"):
            groups[-1] = True
            repeats += 1
        elif part[0] == "|":
            groups[-1] = True
        elif part[0] == ")" and len(groups) > 1:
            if groups[-1] and text[part.end() : part.end() + 1] in ("*", "+", "{"):
                return None
            groups[-2:] = [groups[-2] or groups[-1]]
    try:
        return re.compile(text, flags) if repeats <= _MOST_REPEATS else None
    except (re.error, OverflowError, RecursionError):
        return None


def is_submit_button(control: Element) -> bool:
    return control.tag in ("button", "input") and control.type in ("submit", "image")


def is_text(control: Element) -> bool:
    """Whether text is typed into a control."""
    return control.tag == "textarea" or (control.tag == "input" and control.type not in _NO_TEXT)


def _fits_type(control: Element, kind: str, value: str) -> bool:
    if kind == "email" and not _fits(_EMAIL, value, several="multiple" in control.attributes):
        return False
    if kind == "url" and not _URL.fullmatch(value):
        return False
    if kind in _NUMBERS:
        return _is_in_steps(control, value)
    if kind in _ORDERED:
        return control.get("min") <= value <= (control.get("max") or "9999-99")
    if "pattern" in control.attributes and kind != "textarea":
        pattern = page_pattern(control.get("pattern"))
        return pattern is None or _fits(pattern, value[:_LONGEST], several=False)
    return True


def _fits(pattern: re.Pattern[str], value: str, *, several: bool) -> bool:
    each = [one.strip() for one in value.split(",")] if several else [value]
    return all(pattern.fullmatch(one) for one in each)


def _is_in_steps(control: Element, value: str) -> bool:
    number = number_of(value)
    least, most = number_of(control.get("min")), number_of(control.get("max"))
    if number is None or (least is not None and number < least):
        return number is None
    if most is not None and number > most:
        return False
    if control.get("step").lower() == "any":
        return True
    step = number_of(control.get("step"))
    base = least if least is not None else number_of(control.get("value")) or 0
    return (number - base) % (step if step is not None and step > 0 else 1) == 0
