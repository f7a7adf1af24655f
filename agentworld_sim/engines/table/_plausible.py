"""Plausible texts and numbers for a field, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentworld_sim.engines.table import _times
from agentworld_sim.engines.table import _vocabulary as words
from agentworld_sim.engines.table._drawing import Draw

PEOPLE = frozenset(
    "user users member members person people author authors assignee assignees owner customer customers"
    " employee employees contact contacts reporter reviewer creator sender recipient student teacher"
    " patient account attendee guest agent manager".split()
)

_DAY_US = 86_400_000_000
_YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class Place:
    """What a value is for."""

    draw: Draw
    """Of the whole record: fields that say the same of somebody agree."""
    name: str
    """The field's."""
    about: str
    """What the record or the object around it is: `users`, `assignee`."""
    clock_us: int
    """The world's time; a made-up moment is before it."""
    path: str = ""
    """The field's place in the record."""

    @property
    def own(self) -> Draw:
        """For choices of this field alone."""
        return self.draw.at(self.path or self.name)


def made_us(draw: Draw, clock_us: int) -> int:
    """When a record was made: in the months before the world's day."""
    day = clock_us // _DAY_US * _DAY_US
    made = day - (1 + draw.below(120, "days ago")) * _DAY_US
    return made + draw.below(_DAY_US // 1_000_000, "second") * 1_000_000


def moment_us(place: Place) -> int:
    """When something of a record was: it was made before it was changed, and both before today."""
    day = place.clock_us // _DAY_US * _DAY_US
    made = made_us(place.draw, place.clock_us)
    name = _times.snake(place.name)
    if name in _times.MADE:
        return made
    later = place.own.below(max((day - made) // 1_000_000, 1), "later") * 1_000_000
    if name.startswith(("due", "deadline", "end", "expir", "until", "next", "start")):
        return day + (1 + place.own.below(60, "days ahead")) * _DAY_US
    if name.startswith(("birth", "dob")):
        return day - (20 * _YEAR_DAYS + place.own.below(40 * _YEAR_DAYS, "birth")) * _DAY_US
    return made + later


def text(place: Place, style: str = "") -> str:
    """A text for a field.

    Args:
        place: The field.
        style: The schema's `format`, if it has one.
    """
    maker = _FORMATS.get(style)
    if maker is not None:
        return maker(place)
    name = _times.snake(place.name)
    tokens = name.split("_")
    for pattern, make in _TEXTS:
        if pattern.fullmatch(name):
            return make(place)
    if tokens[-1] == "name":
        return _thing_name(place)
    if _times.is_moment(place.name):
        return str(_times.written(moment_us(place), place.name, {"type": "string"}))
    return _words(place)


def number(place: Place) -> float:
    """A number for a field, with two decimals where that is usual."""
    name = _times.snake(place.name)
    tokens = set(name.split("_"))
    own = place.own
    if _times.is_moment(place.name):
        return moment_us(place) // 1_000_000
    if tokens & {
        "price",
        "amount",
        "total",
        "cost",
        "balance",
        "fee",
        "salary",
        "budget",
        "subtotal",
    }:
        return 5 + own.below(49_500) / 100
    if tokens & {"latitude", "lat"}:
        return own.below(120_000) / 1000 - 60
    if tokens & {"longitude", "lon", "lng"}:
        return own.below(360_000) / 1000 - 180
    if tokens & {"rating", "score", "stars"}:
        return 1 + own.below(5)
    if tokens & {"percent", "percentage", "progress"}:
        return own.below(101)
    if tokens & {"ratio", "rate", "probability", "confidence"}:
        return own.below(100) / 100
    if tokens & {"year"}:
        return 2015 + own.below(10)
    if tokens & {"age"}:
        return 20 + own.below(50)
    if tokens & {"priority", "severity", "urgency", "impact", "level", "rank"}:
        return 1 + own.below(4)
    if tokens & {"size", "bytes"}:
        return 100 + own.below(50_000)
    return 1 + own.below(40)


def slug(text: str) -> str:
    """`Fix the login` → `fix-the-login`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")


def _person(place: Place) -> tuple[str, str]:
    # An object of its own (an assignee) is somebody else than the record's.
    whom = place.draw.at(place.about)
    return whom.one_of(words.FIRST_NAMES, "first"), whom.one_of(words.LAST_NAMES, "last")


def _full_name(place: Place) -> str:
    return " ".join(_person(place))


def _login(place: Place) -> str:
    first, last = _person(place)
    return f"{first[0]}{last}".lower()


def _email(place: Place) -> str:
    first, last = _person(place)
    return f"{first}.{last}@example.com".lower()


def _thing_name(place: Place) -> str:
    around = set(_times.snake(place.about).split("_"))
    mine = set(_times.snake(place.name).split("_"))
    if (around | mine) & PEOPLE:
        return _full_name(place)
    if (around | mine) & {"company", "companies", "organization", "organizations", "customer"}:
        return place.own.one_of(words.COMPANIES)
    if (around | mine) & {"label", "labels", "tag", "tags", "category", "categories"}:
        return place.own.one_of(words.TAGS)
    if (around | mine) & {"file", "files"}:
        return place.own.one_of(words.FILES).rpartition("/")[2]
    return place.own.one_of(words.THINGS)


def _title(place: Place) -> str:
    return place.draw.one_of(words.TITLES, "title")


def _body(place: Place) -> str:
    first = place.own.one_of(words.SENTENCES, "first")
    second = place.own.one_of(words.SENTENCES, "second")
    return first if first == second else f"{first} {second}"


def _url(place: Place) -> str:
    about = slug(_times.snake(place.about)) or "items"
    return f"https://example.com/{about}/{place.draw.hex(8, 'url')}"


def _words(place: Place) -> str:
    return f"{place.own.one_of(words.WORDS, 'first')} {place.own.one_of(words.THINGS, 'second').lower()}"


def _time(kind: str) -> Callable[[Place], str]:
    schema: Mapping[str, Any] = {"type": "string", "format": kind}
    return lambda place: str(_times.written(moment_us(place), place.name, schema))


_FORMATS: Mapping[str, Callable[[Place], str]] = {
    "date-time": _time("date-time"),
    "date": _time("date"),
    "time": _time("time"),
    "duration": lambda place: f"PT{1 + place.own.below(59)}M",
    "email": _email,
    "idn-email": _email,
    "hostname": lambda place: f"{place.own.one_of(words.WORDS)}.example.com",
    "idn-hostname": lambda place: f"{place.own.one_of(words.WORDS)}.example.com",
    "ipv4": lambda place: f"192.0.2.{1 + place.own.below(254)}",
    "ipv6": lambda place: f"2001:db8::{1 + place.own.below(65534):x}",
    "uri": _url,
    "url": _url,
    "iri": _url,
    "uri-reference": _url,
    "iri-reference": _url,
    "uuid": lambda place: place.own.uuid(),
    "json-pointer": lambda place: f"/{place.own.one_of(words.WORDS)}",
    "regex": lambda place: "^[a-z]+$",
    "byte": lambda place: "YWdlbnQ=",
}
"""By the schema's `format`; example.com and the addresses are those reserved for documentation
(RFC 2606, RFC 5737, RFC 3849)."""


def _rule(
    pattern: str, make: Callable[[Place], str]
) -> tuple[re.Pattern[str], Callable[[Place], str]]:
    return re.compile(pattern), make


_TEXTS = (
    _rule(r"(.*_)?e?mail(_address)?", _email),
    _rule(r"(.*_)?(url|uri|link|href|homepage|website|avatar|permalink|webhook)", _url),
    _rule(r"(first|given)_name|firstname", lambda place: _person(place)[0]),
    _rule(r"(last|family|sur)_?name", lambda place: _person(place)[1]),
    _rule(r"full_name|(person|customer|contact|user|author|owner|member)_name", _full_name),
    _rule(r"(user_?name|login|handle|nick(name)?|screen_name)", _login),
    _rule(
        r"(author|assignee|owner|creator|reporter|created_by|updated_by|assigned_to|sender|reviewer"
        r"|requester|from_user|to_user)",
        lambda place: _login(Place(place.draw, place.name, place.path, place.clock_us)),
    ),
    _rule(r"(.*_)?(title|subject|summary|headline|topic|task)", _title),
    _rule(
        r"(.*_)?(description|body|content|contents|text|message|note|notes|comment|details|bio|about"
        r"|reason|excerpt|abstract)",
        _body,
    ),
    _rule(
        r"(.*_)?phone(_number)?|mobile|fax", lambda place: f"+1-202-555-01{place.own.below(100):02}"
    ),
    _rule(r"(.*_)?city|location", lambda place: place.own.one_of(words.CITIES)),
    _rule(r"(.*_)?country(_name)?", lambda place: place.own.one_of(words.COUNTRIES)),
    _rule(r"country_code", lambda place: place.own.one_of(("PT", "NO", "JP", "KE", "CA"))),
    _rule(
        r"(.*_)?(street|address(_line_?1)?)",
        lambda place: f"{1 + place.own.below(98)} {place.own.one_of(words.STREETS, 'street')}",
    ),
    _rule(r"(.*_)?(zip|postal|post)_?(code)?", lambda place: f"{10000 + place.own.below(89999)}"),
    _rule(
        r"(.*_)?(company|organi[sz]ation|org|employer|team|workspace|vendor)(_name)?",
        lambda place: place.own.one_of(words.COMPANIES),
    ),
    _rule(r"(.*_)?colou?r", lambda place: place.own.one_of(words.COLORS)),
    _rule(r"(.*_)?currency(_code)?", lambda place: place.own.one_of(("EUR", "USD", "GBP", "JPY"))),
    _rule(r"(.*_)?(lang(uage)?|locale)", lambda place: place.own.one_of(("en", "de", "fr", "pt"))),
    _rule(r"time_?zone|tz", lambda place: "UTC"),
    _rule(r"(.*_)?(status|state)", lambda place: place.own.one_of(words.STATES)),
    _rule(r"(due|deadline|start|end|expires|expiry|until|reminder)(_on|_day)?", _time("date")),
    _rule(
        r"(.*_)?(priority|severity|urgency|impact)",
        lambda place: place.own.one_of(("low", "medium", "high")),
    ),
    _rule(r"(.*_)?(tags?|labels?|category|topics?)", lambda place: place.own.one_of(words.TAGS)),
    _rule(r"(.*_)?(path|file|file_?path)", lambda place: place.own.one_of(words.FILES)),
    _rule(r"file_?name", lambda place: place.own.one_of(words.FILES).rpartition("/")[2]),
    _rule(r"(.*_)?branch", lambda place: place.own.one_of(("main", "develop", "release"))),
    _rule(r"(.*_)?(sha|commit|hash|digest|checksum|etag)", lambda place: place.own.hex(40)),
    _rule(r"(.*_)?(uuid|guid)", lambda place: place.own.uuid()),
    _rule(
        r"(.*_)?version", lambda place: f"{1 + place.own.below(4)}.{place.own.below(10, 'minor')}.0"
    ),
    _rule(r"(.*_)?slug", lambda place: slug(_title(place))),
    _rule(r"(.*_)?id", lambda place: place.own.hex(8)),
    _rule(r"mime_?type|content_type", lambda place: "text/plain"),
    _rule(
        r"(repo|repository|project)(_name)?", lambda place: place.own.one_of(words.THINGS).lower()
    ),
    _rule(r"(price|amount|total|cost|balance|fee)", lambda place: f"{number(place):.2f}"),
)
"""The first that fits a field's name in snake case makes its text."""
