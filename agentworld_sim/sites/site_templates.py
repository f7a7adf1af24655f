"""The templates of a site, in Jinja's sandbox, with limits on loops, on work and on what they write.

The limits count what is done and not the time it takes, so that the same page fails or comes on every machine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache, wraps
from html import escape
from typing import Any, cast
from urllib.parse import quote

from jinja2 import DictLoader, StrictUndefined, meta, nodes
from jinja2.filters import FILTERS
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from agentworld_sim.errors import UsageError

MAX_WORK = 200_000
"""Turns of loops, and calls of filters and macros, in one page."""
MAX_TEXT = 2_000_000
"""Characters of one page, and of any text on the way to it."""

_FILTERS = (
    "abs capitalize count d default dictsort e escape first float groupby int join last length list lower map max"
    " min reject rejectattr reverse round select selectattr sort string striptags sum title tojson trim truncate"
    " unique upper urlencode urlize"
).split()
_GROWING = ("*", "**", "+", "%")
_DAY = 86_400

_work: ContextVar[list[int]] = ContextVar("work")


class TemplateFailure(UsageError):
    """A template cannot be rendered. The message says which, and why."""


class FormData:
    """A form as a template sees it: what was typed, and what is wrong with it."""

    def __init__(
        self, values: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
    ) -> None:
        self.values = values or {}
        self.errors = errors or {}

    def value(self, name: str, default: object = "") -> object:
        """What was typed into a field; `default` where the form is new."""
        return self.values.get(name, "") if self.values or self.errors else default

    def error(self, name: str) -> str:
        """What is wrong with a field; empty where nothing is."""
        return self.errors.get(name, "")


_OPEN: Mapping[type, tuple[str, ...]] = {
    FormData: ("value", "values", "error", "errors"),
    LoopContext: ("index", "index0", "first", "last", "length", "previtem", "nextitem"),
    Macro: (),
}
"""The attributes that templates may see, beside the items of rows."""


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(_GROWING)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, Mapping):
            return attr in ("items", "get")
        return any(isinstance(obj, kind) and attr in names for kind, names in _OPEN.items())

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise TypeError(f"{operator} is for numbers; texts are joined by ~")
        if operator == "**" or abs(left) > 1e15 or abs(right) > 1e15:
            raise ValueError(f"{left} {operator} {right} is too large")
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock)):
            tick = nodes.Call(nodes.Name("_tick", "load"), [], [], None, None)
            loop.body.insert(0, nodes.ExprStmt(tick).set_lineno(loop.lineno))
        _join_by_call(tree)
        tree.set_environment(self)
        return tree


class SiteTemplates:
    """The templates of one site."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self._environment = environment = _Environment(
            loader=DictLoader(templates),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            cache_size=len(templates) + 1,
        )
        environment.globals.clear()
        known: Any = environment.globals
        known |= {"_tick": _spend, "_text": _text, "range": _range}
        environment.filters = {name: _with_limits(FILTERS[name]) for name in _FILTERS}
        own = {"ago": _ago, "paragraphs": _paragraphs, "segment": _segment, "slug": slug}
        environment.filters |= {name: _with_limits(run) for name, run in own.items()}

    @property
    def known(self) -> set[str]:
        """What every template knows."""
        return set(self._environment.globals)

    def parse(self, name: str) -> nodes.Template:
        """The template as a tree.

        Raises:
            TemplateFailure: it cannot be read.
        """
        try:
            source, _, _ = cast("Any", self._environment.loader).get_source(self._environment, name)
            self._environment.get_template(name)
            return self._environment.parse(source, name)
        except Exception as error:  # noqa: BLE001 -- a file that is not there too
            raise _failure(name, error) from None

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """A page.

        Raises:
            TemplateFailure: the template fails, loops too long or writes too much.
        """
        held = _work.set([0])
        parts: list[str] = []
        size = 0
        try:
            for part in self._environment.get_template(name).generate(context):
                size += len(part)
                parts.append(_limit(part, size))
            return "".join(parts)
        except Exception as error:  # noqa: BLE001 -- whatever a template does wrong, the page fails
            raise _failure(name, error) from None
        finally:
            _work.reset(held)


def _failure(name: str, error: Exception) -> TemplateFailure:
    line = getattr(error, "lineno", None)
    at = f", line {line}" if isinstance(line, int) else ""
    said = "it calls itself without end" if isinstance(error, RecursionError) else str(error)
    return TemplateFailure(f"the template {getattr(error, 'name', None) or name!r}{at}: {said}")


def _spend(cost: int = 1) -> None:
    held = _work.get()
    held[0] += cost
    if held[0] > MAX_WORK:
        raise ValueError(f"more than {MAX_WORK:,} turns of loops and calls of filters")


def _limit(text: Any, size: int | None = None) -> Any:
    if isinstance(text, str) and (len(text) if size is None else size) > MAX_TEXT:
        raise ValueError(f"more than {MAX_TEXT:,} characters")
    return text


def _text(*parts: object) -> str:
    _spend()
    texts: list[Any] = [part if hasattr(part, "__html__") else str(part) for part in parts]
    _limit("", sum(len(str(part)) for part in texts))
    return ("" if all(type(part) is str for part in texts) else Markup("")).join(texts)


def _range(*bounds: int) -> range:
    found = range(*bounds)
    _spend(len(found))
    return found


def _with_limits(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def run_with_limits(*given: Any, **named: Any) -> Any:
        sized = [cast("Any", one) for one in given if isinstance(one, str | list | dict)]
        _spend(1 + sum(len(one) // 100 for one in sized))
        return _limit(run(*given, **named))

    return run_with_limits


def _join_by_call(tree: nodes.Node) -> None:
    """Has `~` done by a function that knows the limits."""
    for field, held in tree.iter_fields():
        for place, child in enumerate(
            cast("list[Any]", held) if isinstance(held, list) else [held]
        ):
            if not isinstance(child, nodes.Node):
                continue
            _join_by_call(child)
            if isinstance(child, nodes.Concat):
                call = nodes.Call(nodes.Name("_text", "load"), child.nodes, [], None, None)
                call.set_lineno(child.lineno)
                if isinstance(held, list):
                    held[place] = call
                else:
                    setattr(tree, field, call)


def slug(text: object) -> str:
    """A title as a part of an address."""
    plain = unicodedata.normalize("NFKD", str(text)[:500]).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:60].strip("-") or "-"


def _segment(text: object) -> str:
    """A value between two slashes of an address."""
    return quote(str(text), safe="")


def _paragraphs(text: object) -> Markup:
    """What people wrote: a blank line begins a paragraph."""
    parts = re.split(r"\n\s*\n", str(text).replace("\r\n", "\n").strip())
    lines = ("<br>".join(escape(line) for line in part.split("\n")) for part in parts)
    return Markup("\n".join(f"<p>{line}</p>" for line in lines))


def _ago(moment: object, now: object) -> str:
    """A moment (ISO 8601, UTC) as people say it at the moment `now`."""
    passed = _seconds(str(now)) - _seconds(str(moment))
    for length, name in (
        (365 * _DAY, "year"),
        (30 * _DAY, "month"),
        (_DAY, "day"),
        (3600, "hour"),
        (60, "minute"),
    ):
        if passed >= length:
            count = int(passed // length)
            return f"{count} {name}{'s' * (count > 1)} ago"
    return "just now"


@lru_cache(maxsize=4096)
def _plain_moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _seconds(text: str) -> float:
    return _plain_moment(text.removesuffix("Z")[:26])


class TemplateNeeds:
    """What templates take from outside."""

    def __init__(self, templates: SiteTemplates) -> None:
        self._templates = templates
        self._own: dict[str, tuple[set[str], list[str]]] = {}

    def of(self, name: str) -> set[tuple[str, str]]:
        """The variables that a template and those it is made of take, each with the template that says so.

        Raises:
            TemplateFailure: one of them cannot be read, or is not there.
        """
        found: set[tuple[str, str]] = set()
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                variables, others = self._own_needs(one)
                found |= {(one, variable) for variable in variables}
                waiting += others
        return found

    def _own_needs(self, name: str) -> tuple[set[str], list[str]]:
        if name not in self._own:
            tree = self._templates.parse(name)
            # Blocks see what the whole template imports; what one branch sets, another may lack.
            own = {one.name for one in tree.find_all(nodes.Name) if one.ctx == "store"}
            for part in tree.find_all(nodes.FromImport):
                own |= {one if isinstance(one, str) else one[1] for one in part.names}
            variables = meta.find_undeclared_variables(tree) - self._templates.known - own
            others = [one for one in meta.find_referenced_templates(tree) if one is not None]
            self._own[name] = variables, others
        return self._own[name]


@lru_cache(maxsize=16)
def site_templates(templates: tuple[tuple[str, str], ...]) -> SiteTemplates:
    """The templates of a site; compiled once for all of its worlds."""
    return SiteTemplates(dict(templates))
