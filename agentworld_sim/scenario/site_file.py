"""A site: a web application as data. Read from a YAML file with a folder of templates beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from agentworld_sim.errors import ScenarioError, UsageError, nearest
from agentworld_sim.scenario._types import (
    KeyedProblems,
    Matching,
    Positive,
    Problems,
    Regex,
    RelativePath,
    Slug,
    Strict,
)
from agentworld_sim.scenario.tables import Names, TableName, TableSpec, Text

SHIPPED = Path(__file__).parents[1] / "sites"
"""Every folder here with a `site.yaml` is a site that a scenario can name."""

ADMIN = "admin"
"""The site that is generated from the tables of the scenario."""

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)(?::([a-z]+))?\}")
"""`{name}` and `{name:kind}` in paths, names of fields and addresses."""

_RESERVED = frozenset("site user path query form flash pages status message now".split())
"""What every template knows; no row can be called so."""


PathPattern = Annotated[
    str,
    Matching(
        r"/(?:[^{}?#\s]|\{[A-Za-z_][A-Za-z0-9_]*(?::int)?\})*",
        "a path such as /f/{forum} or /sv/{id:int}.json, without a query",
    ),
]
Name = Annotated[
    str, Matching(r"[A-Za-z_][A-Za-z0-9_]*", "a name of letters, digits and underscores")
]
Host = Annotated[
    str,
    Matching(
        r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?",
        "a host in lower case, such as forum.test or localhost:9999",
    ),
]
Queries = Mapping[Name, Text]


class FieldRule(Strict):
    """What a field of a form must be. Statements know it as `:name`."""

    name: Name | None = None
    """The parameter's name; by default the last part of the field's, so `submission[title]` is `:title`."""
    required: bool = False
    """Whether it must say something."""
    max: Positive | None = None
    """Characters that it may have."""
    pattern: Regex | None = None
    """A regular expression that is found in it."""
    number: bool = False
    """Whether it is a number."""
    at_least: float | None = None
    """The smallest number."""
    at_most: float | None = None
    """The largest number."""
    choices: Annotated[tuple[str, ...], Field(strict=False)] | Text | None = None
    """What it may say: texts, or a statement whose first column has them."""
    unique: str | None = None
    """`table.field` in which nothing may equal it."""
    matches: str | None = None
    """The field that says the same."""
    message: str | None = None
    """What is said of a value that does not fit, instead of the usual."""
    many: bool = False
    """Whether it is sent any number of times, as the checkboxes of a list are. The parameter is a JSON array then,
    for `json_each(:name)`."""

    @property
    def is_number(self) -> bool:
        return self.number or self.at_least is not None or self.at_most is not None

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        if self.unique is not None and not re.fullmatch(r"[^.]+\.[^.]+", self.unique):
            raise KeyedProblems([(("unique",), f"found {self.unique!r}; allowed: `table.field`.")])
        return self


class Route(Strict):
    """What a site answers at a path."""

    get: PathPattern | None = None
    """The path of a page."""
    post: PathPattern | None = None
    """The path that a form is sent to."""
    signed_in: bool = False
    """Whether only somebody who is signed in comes here; others are led to `session.login`."""
    allow: Text | None = None
    """A condition in SQL; where it does not hold, the answer is 403."""
    query: Mapping[Name, str] = Field(default_factory=dict[str, str])
    """Fields of the URL, with what they are where the URL does not say."""
    row: Queries = Field(default_factory=dict[str, str])
    """Name to a SELECT that gives one row; where it gives none, the answer is 404."""
    rows: Queries = Field(default_factory=dict[str, str])
    """Name to a SELECT that gives any number of rows."""
    pages: Mapping[Name, Positive] = Field(default_factory=dict[str, int], max_length=1)
    """The name in `rows` that is shown in pages (`?page=2`), and how many rows a page has."""
    data: Mapping[Name, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Constants for the template."""
    form: Mapping[str, FieldRule] = Field(default_factory=dict[str, FieldRule])
    """The fields of the form; others are left out. A field that does not fit gives the page of the form
    again, with messages and the status 422."""
    again: PathPattern | None = None
    """The path of that page, with the same names in it, where it is not the route's own."""
    refuse: Mapping[str, Text] = Field(default_factory=dict[str, str])
    """Message to a SELECT; one that gives a row refuses the form."""
    do: Names = ()
    """What is done, as one: INSERT, UPDATE and DELETE. The fields of the first new record are
    `:new_FIELD` afterwards."""
    visit: Names = ()
    """What opening a page changes, such as that a mail counts as read."""
    sign_in: Text | None = None
    """An expression in SQL that gives the name of the user who is signed in from now on."""
    sign_out: bool = False
    """Whether the user is signed out."""
    flash: str | None = None
    """A message that the next page shows. It may have `{name.field}`, as `go`."""
    go: str | None = None
    """Where the browser goes then, such as `/f/{new.forum}/{new.id}/{new.title:slug}`; `back` where it came from."""
    page: str | None = None
    """The template of the page."""
    json_: JsonValue = Field(default=None, alias="json")
    """An answer as JSON, where `{name}` alone stands for a value or for rows. Beside `go`, it is for
    programs, and `go` for browsers."""

    @property
    def pattern(self) -> str:
        return self.get or self.post or ""

    @property
    def method(self) -> Literal["GET", "POST"]:
        return "POST" if self.post else "GET"

    @model_validator(mode="after")
    def _check_route(self) -> Self:
        problems: Problems = []
        if (self.get is None) == (self.post is None):
            problems.append(((), "needs exactly one of `get` and `post`, with its path."))
        if not (self.page or self.go) and self.json_ is None:
            problems.append(((), "answers nothing. Add `page`, `go` or `json`."))
        if self.page and (self.go or self.json_ is not None):
            problems.append((("page",), "stands beside `go` or `json`. Keep one of them."))
        if self.get and (self.form or self.do or self.refuse or self.again):
            message = "a GET takes no form and does nothing. Say `post`, or use `query` or `visit`."
            problems.append((("get",), message))
        if self.visit and not self.page:
            problems.append((("visit",), "is for a page. Say `page`, or use `do`."))
        for name in self.pages:
            if name not in self.rows:
                message = f"`rows` has no {name!r}.{nearest(name, self.rows)}"
                problems.append((("pages", name), message))
        for group in ("row", "rows", "data"):
            for name in getattr(self, group):
                if name in _RESERVED or (group == "row" and name in self.rows):
                    problems.append(((group, name), f"{name!r} has a meaning already. Rename it."))
        KeyedProblems.raise_for(problems)
        return self


class SessionSpec(Strict):
    """How a site knows who is there."""

    cookie: Name
    """The name of the cookie."""
    login: PathPattern
    """The page that people sign in on."""


class Site(Strict):
    """A web application: hosts, tables, routes, templates. It has no code."""

    site: Slug
    """Its name."""
    title: str
    """What its pages call it."""
    hosts: Annotated[tuple[Host, ...], Field(strict=False, min_length=1)]
    """The hosts it answers at."""
    tables: Mapping[TableName, TableSpec] = Field(default_factory=dict[str, TableSpec])
    """Its tables, which are the world's."""
    start: str | None = None
    """A template that writes records of the world's first moment, one a line: `{"table": …, "record": {…}}`.
    It may use `pick(list)`, `number(least, most)`, `ago(days)` (a text) and `moment(days)` (seconds), which follow
    from the world's seed and clock."""
    session: SessionSpec | None = None
    """Sessions, where people can sign in."""
    rows: Queries = Field(default_factory=dict[str, str])
    """Rows that every page has."""
    routes: Annotated[tuple[Route, ...], Field(strict=False, min_length=1)]
    """What it answers; the first that fits a path."""
    templates: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Templates by name, in Jinja: those of the folder `templates` beside the file too. `error.html` is for
    what cannot be answered."""
    static: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Path to the text of a style sheet or another file: those of the folder `static` too."""

    _source: str = PrivateAttr(default="<site>")
    _text: str = PrivateAttr(default="")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a site's file, and what stands in the folders `templates` and `static` beside it.

        Raises:
            ScenarioError: it is invalid. The message lists every problem, up to ten.
        """
        from agentworld_sim.scenario._document import problems_error, problems_of, read_document

        try:
            text = _text_in(path)
            beside = {
                "templates": dict(_texts_in(path.parent / "templates")),
                "static": {f"/{name}": held for name, held in _texts_in(path.parent / "static")},
            }
        except OSError as error:
            raise ScenarioError(f"{error.filename} cannot be read: {error.strerror}.") from error
        document = read_document(text, str(path))
        value, problems, site = document.value, list(document.problems), None
        if isinstance(value, dict):
            own = {part: value.get(part, {}) for part in beside}
            value = {
                **value,
                **{
                    part: {**beside[part], **said} if isinstance(said, dict) else said
                    for part, said in own.items()
                },
            }
        try:
            site = cls.model_validate(value)
        except ValidationError as error:
            problems += problems_of(error, document, cls)
        if site is None or problems:
            raise problems_error(str(path), problems)
        site._source, site._text = str(path), text
        return site

    def error_of(self, problems: Problems) -> ScenarioError:
        """One error for all problems, each with its place in the file."""
        from agentworld_sim.scenario._document import Problem, problems_error, read_document

        document = read_document(self._text or "{}", self._source)
        placed = [Problem(document.place(key), key, message) for key, message in problems]
        return problems_error(self._source, placed)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        problems: Problems = []
        for number, route in enumerate(self.routes):
            place = ("routes", number)
            if route.page and route.page not in self.templates:
                hint = nearest(route.page, self.templates)
                message = f"there is no template {route.page!r}.{hint} Add it to `templates`."
                problems.append(((*place, "page"), message))
            if (route.signed_in or route.sign_in or route.sign_out) and self.session is None:
                problems.append((place, "signs people in or out, and the site has no `session`."))
        if self.start is not None and self.start not in self.templates:
            problems.append((("start",), f"there is no template {self.start!r}."))
        KeyedProblems.raise_for(problems)
        return self


def _texts_in(folder: Path) -> Iterable[tuple[str, str]]:
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if file.is_file() and not file.is_symlink():
            yield file.relative_to(folder).as_posix(), _text_in(file)


def _text_in(file: Path) -> str:
    from agentworld_sim.scenario._document import MAX_BYTES, source_text

    with file.open("rb") as stream:
        return source_text(stream.read(MAX_BYTES + 1), str(file))


def shipped_sites() -> dict[str, Path]:
    """The sites that come with the library, by name."""
    return {file.parent.name: file for file in sorted(SHIPPED.glob("*/site.yaml"))}


@lru_cache(maxsize=32)
def shipped_site(name: str) -> Site:
    """A site that comes with the library.

    Raises:
        UsageError: there is none of that name.
    """
    known = shipped_sites()
    if name not in known:
        listed = ", ".join([ADMIN, *known])
        raise UsageError(
            f"there is no site {name!r}.{nearest(name, [ADMIN, *known])} Sites: {listed}."
        )
    return Site.load(known[name])


class SiteEntry(Strict):
    """A site of a scenario: one that comes with the library, or your own."""

    site: str | None = None
    """The name of a site of the library: `forum`; `admin` is made from the tables."""
    file: RelativePath | None = None
    """The file of a site, beside the scenario's."""
    definition: Site | None = None
    """The site itself."""
    hosts: Annotated[tuple[Host, ...], Field(strict=False, min_length=1)] | None = None
    """The hosts it answers at instead of its own."""
    user: str | None = None
    """Who is signed in at the start."""
    tables: Annotated[tuple[TableName, ...], Field(strict=False, min_length=1)] | None = None
    """For `admin`: the tables that it shows; all by default."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        given = [one for one in ("site", "file", "definition") if getattr(self, one) is not None]
        if len(given) != 1:
            raise KeyedProblems([((), "needs exactly one of `site`, `file` and `definition`.")])
        if self.tables is not None and self.site != ADMIN:
            raise KeyedProblems([(("tables",), f"is for the site {ADMIN!r} alone. Remove it.")])
        if self.site is not None and self.site not in (ADMIN, *shipped_sites()):
            try:
                shipped_site(self.site)
            except UsageError as error:
                raise KeyedProblems([(("site",), str(error))]) from None
        return self

    def with_definition(self, base: Path | None) -> Self:
        """The entry with the site itself instead of its file beside `base`.

        Raises:
            ScenarioError: the file cannot be read, or is invalid.
        """
        if self.file is None or base is None:
            return self
        return self.model_copy(update={"file": None, "definition": Site.load(base / self.file)})

    def to_site(self) -> Site | None:
        """The site; `None` for the one that is made from the tables.

        Raises:
            ScenarioError: there is only the name of its file.
        """
        if self.site == ADMIN:
            return None
        if self.file is not None:
            raise ScenarioError(
                f"the site {self.file!r} is beside the scenario's file, and it was read from none."
                " Load the scenario from its file, or write the site under `definition`."
            )
        site = self.definition or shipped_site(self.site or "")
        if self.hosts is None:
            return site
        return site.model_copy(update={"hosts": self.hosts})


def _entry(value: Any) -> Any:
    """A name alone stands for a site of the library."""
    return {"site": value} if isinstance(value, str) else value


SiteUse = Annotated[
    SiteEntry,
    BeforeValidator(_entry),
]

__all__ = [
    "ADMIN",
    "PLACEHOLDER",
    "FieldRule",
    "Route",
    "SessionSpec",
    "Site",
    "SiteEntry",
    "SiteUse",
    "shipped_site",
    "shipped_sites",
]
