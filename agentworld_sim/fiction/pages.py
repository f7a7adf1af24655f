"""The pages of a fictional world: an encyclopaedia, news, official sites, a forum and lists that say the same, each
with the facts that stand on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from importlib import resources
from random import Random
from typing import Any
from urllib.parse import quote

from agentworld_sim.engines.search import Cell, WebPage
from agentworld_sim.extras import require
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.name_grammar import draw_names
from agentworld_sim.fiction.schema import Column, Row, Table

LINES = 40
"""Lines of a list on one page."""

LISTS = 3
"""Lists of one table, each by another column."""

NEWS, OFFICIAL, FORUM = 0.5, 0.5, 0.4
"""The chance that a thing has such a page, beside its article in the encyclopaedia."""

TOP_LEVEL = "alt"
"""Under which all hosts stand. RFC 9476 keeps it out of the domain name system for good: no host of a world can ever
be a real one, and the name does not say that it is made up, as `.test` and `.example` do."""

SEPARATORS = 10_000
"""From which numbers with a unit are written with separators."""


def fiction_pages(fiction: Fiction) -> Iterator[WebPage]:
    """All pages of a world, in one order; the same world has the same pages."""
    return _PageWriter(fiction).pages()


def written(column: Column, value: Any) -> str:
    """How pages write a value that is no reference: `June 18, 2024`, `12,500`, `yes`."""
    if column.type == "date":
        day = date.fromisoformat(value)
        return f"{day:%B} {day.day}, {day.year}"
    if column.type == "boolean":
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if column.unit and not isinstance(value, str) and abs(value) >= SEPARATORS:
        return f"{value:,}"
    return str(value)


@dataclass(frozen=True)
class _Entry:
    """A row with a title, and the addresses of the pages about it."""

    table: Table
    row: Row
    title: str
    url: str
    news: str
    official: str
    forum: str
    variant: int
    """Which of several wordings its pages have."""

    @property
    def key(self) -> int:
        return self.row[self.table.key]

    @property
    def link(self) -> str:
        return f"[{self.title}]({self.url})"


class _Sheet:
    """What one page shows: each fact that is taken from it is one of the page's."""

    def __init__(self, writer: _PageWriter, url: str) -> None:
        self._writer = writer
        self.url = url
        self.cells: dict[Cell, None] = {}

    def title(self, entry: _Entry) -> str:
        """A link to the article about a row."""
        self.cells[Cell(entry.table.name, entry.key, entry.table.title)] = None
        return entry.link

    def value(self, table: Table, row: Row, column: Column) -> str | None:
        """What the page says that a cell is, without its unit; `None` where it is empty."""
        cell = Cell(table.name, row[table.key], column.name)
        value = self._writer.fiction.shown_value(cell, self.url)
        if value is None:
            return None
        self.cells[cell] = None
        if not column.references:
            return written(column, value)
        entry = self._writer.entries.get((column.references, value))
        return (
            self.title(entry) if entry else self._writer.fiction.title_of(column.references, value)
        )

    def measure(self, table: Table, row: Row, column: Column) -> str | None:
        """The same with the unit."""
        value = self.value(table, row, column)
        return value if value is None or not column.unit else f"{value} {column.unit}"

    def sentence(self, entry: _Entry, column: Column, variant: int) -> str | None:
        """A sentence with the fact; `None` where the family has none for it, or the cell is empty."""
        value = self.value(entry.table, entry.row, column) if column.says else None
        if value is None:
            return None
        return _sentence(column.says[variant % len(column.says)])(title=entry.title, value=value)


@dataclass(frozen=True)
class _Part:
    """Rows that refer to a thing, as a section of its article: a table, or a list of links."""

    heading: str
    slug: str
    head: Sequence[str]
    rows: Sequence[Row]
    line: Callable[[_Sheet, Row], Any]


class _PageWriter:
    def __init__(self, fiction: Fiction) -> None:
        self.fiction = fiction
        self._chance = Random(f"{fiction.recipe.seed}/pages")
        self._today = date.fromisoformat(fiction.schema.today)
        taken = {
            row[table.title]
            for table in fiction.schema.tables
            if table.title
            for row in fiction.rows[table.name]
        }
        names = draw_names("place", "invented", 40, self._chance)
        first, second, third, *_ = (name for name in names if name not in taken)
        self._wiki, self._paper, self._board = (
            f"{first}pedia",
            f"The {second} Courier",
            f"{third} Board",
        )
        self._hosts = {
            name: f"https://{start}{_slug(name)}.{TOP_LEVEL}/"
            for name, start in ((self._wiki, "en."), (self._paper, "www."), (self._board, "forum."))
        }
        self._people = draw_names("person", "invented", 60, self._chance)
        self._main = f"[Main page]({self._hosts[self._wiki]}wiki/Main_Page)"

    @cached_property
    def entries(self) -> Mapping[tuple[str, int], _Entry]:
        """The rows with a title, by table and key."""
        found: dict[tuple[str, int], _Entry] = {}
        taken: set[str] = set()
        for table in self.fiction.schema.tables:
            for row in self.fiction.rows[table.name] if table.title else ():
                entry = self._entry(table, row, taken)
                found[table.name, entry.key] = entry
        return found

    def _entry(self, table: Table, row: Row, taken: set[str]) -> _Entry:
        title: str = row[table.title]
        slug = _slug(title)
        while slug in taken:
            slug += f"-{_slug(table.noun[0])}"
        taken.add(slug)
        name = title if slug == _slug(title) else f"{title} ({table.noun[0]})"
        chance = Random(f"{self.fiction.recipe.seed}/pages/{table.name}/{row[table.key]}")
        news, official, forum = (chance.random() < share for share in (NEWS, OFFICIAL, FORUM))
        return _Entry(
            table,
            row,
            title,
            url=f"{self._hosts[self._wiki]}wiki/{quote(name.replace(' ', '_'))}",
            news=f"{self._hosts[self._paper]}{_slug(table.noun[1])}/{slug}" if news else "",
            official=f"https://www.{slug}.{TOP_LEVEL}/" if official else "",
            forum=f"{self._hosts[self._board]}t/{slug}" if forum else "",
            variant=chance.randrange(4),
        )

    @cached_property
    def _referring(self) -> Mapping[tuple[str, int], Mapping[tuple[str, str], list[Row]]]:
        """By table and key of a row: the rows that refer to it, by their table and column."""
        found: dict[tuple[str, int], dict[tuple[str, str], list[Row]]] = {}
        for table in self.fiction.schema.tables:
            for column in table.columns:
                for row in self.fiction.rows[table.name] if column.references else ():
                    if (key := row[column.name]) is not None:
                        of_row = found.setdefault((column.references, key), {})
                        of_row.setdefault((table.name, column.name), []).append(row)
        return found

    def pages(self) -> Iterator[WebPage]:
        yield self._main_page()
        for table in self.fiction.schema.tables:
            if table.title:
                for row in self.fiction.rows[table.name]:
                    yield from self._about(self.entries[table.name, row[table.key]])
                yield from self._lists(table)

    def _about(self, entry: _Entry) -> Iterator[WebPage]:
        parts = [
            self._part(entry, *one)
            for one in self._referring.get((entry.table.name, entry.key), {}).items()
        ]
        yield self._article(entry, parts)
        for part in parts:
            yield from self._continuation(entry, part)
        if entry.news:
            yield self._news(entry)
        if entry.official:
            yield self._official(entry)
        if entry.forum:
            yield self._forum(entry)

    def _article(self, entry: _Entry, parts: Sequence[_Part]) -> WebPage:
        sheet, table = _Sheet(self, entry.url), entry.table
        sheet.title(entry)
        facts = [column for column in table.columns if column.name != table.title]
        box = [
            (one.label, value)
            for one in facts
            if (value := sheet.measure(table, entry.row, one)) is not None
        ]
        said = [
            one
            for place, column in enumerate(facts)
            if (one := sheet.sentence(entry, column, entry.variant + place))
        ]
        sources = (
            (f"{entry.title} - {self._paper}", entry.news),
            (f"{entry.title} - official site", entry.official),
            (f"{entry.title} - {self._board}", entry.forum),
        )
        text = _template("encyclopaedia")(
            title=entry.title,
            site=self._wiki,
            article=_article_of(table.noun[0]),
            variant=entry.variant,
            box=box,
            lead=said[:3],
            rest=said[3:],
            parts=[
                {
                    "heading": part.heading,
                    "head": part.head,
                    "lines": [part.line(sheet, row) for row in part.rows[:LINES]],
                    "more": [f"[{_letter(place)}]({_next(entry, part, place)})" for place in range(1, _chunks(part.rows))],
                }
                for part in parts
            ],
            category=self._category(table),
            main_page=self._main,
            sources=[(name, url) for name, url in sources if url],
        )  # fmt: skip
        labels = ", ".join(
            label.lower() for label, _ in box[entry.variant : entry.variant + 3] or box[:1]
        )
        opening = ("What is known about", "All about", "Facts and figures:", "An overview of")[
            entry.variant
        ]
        return WebPage(
            url=entry.url,
            title=f"{entry.title} - {self._wiki}",
            text=text,
            kind="encyclopaedia",
            teaser=f"{opening} {entry.title}, {_article_of(table.noun[0])}{f': {labels}' if labels else ''} and more.",
            cells=tuple(sheet.cells),
        )

    def _part(self, entry: _Entry, of: tuple[str, str], rows: Sequence[Row]) -> _Part:
        table = self.fiction.schema.table(of[0])
        by = table.column(of[1])
        heading = f"{_upper(table.noun[1])} - {by.label}"
        slug = f"{_slug(table.noun[1])}-{_slug(by.label)}"
        if table.title:

            def title(sheet: _Sheet, row: Row) -> str:
                sheet.cells[Cell(table.name, row[table.key], by.name)] = None
                return sheet.title(self.entries[table.name, row[table.key]])

            return _Part(heading, slug, (), rows, title)
        columns = self._columns_at(table, by)

        def cells(sheet: _Sheet, row: Row) -> list[str]:
            sheet.cells[Cell(table.name, row[table.key], by.name)] = None
            return [sheet.measure(table, row, column) or "-" for column in columns]

        return _Part(heading, slug, [column.label for column in columns], rows, cells)

    def _columns_at(self, table: Table, by: Column) -> list[Column]:
        """What of rows without a title the pages of those that they refer to show: the first reference's all, the
        others' no more than half of the facts."""
        others = [column for column in table.columns if column is not by]
        if by is next(column for column in table.columns if column.references):
            return others
        facts = [column for column in others if not column.references]
        return [
            column for column in others if column.references or column in facts[: len(facts) // 2]
        ]

    def _continuation(self, entry: _Entry, part: _Part) -> Iterator[WebPage]:
        for place in range(1, _chunks(part.rows)):
            sheet = _Sheet(self, _next(entry, part, place))
            rows = part.rows[place * LINES : (place + 1) * LINES]
            yield self._list(
                sheet,
                f"{entry.title}: {part.heading.lower()}, part {_letter(place)}",
                f"This is part {_letter(place)} of a list that begins in the article on {sheet.title(entry)}.",
                part.head,
                [part.line(sheet, row) for row in rows],
                (),
            )

    def _lists(self, table: Table) -> Iterator[WebPage]:
        entries = sorted(
            (self.entries[table.name, row[table.key]] for row in self.fiction.rows[table.name]),
            key=lambda one: one.title,
        )
        for column in self._list_columns(table):
            urls = [self._list_url(table, column, place) for place in range(_chunks(entries))]
            for place, url in enumerate(urls):
                sheet = _Sheet(self, url)
                lines = [
                    [sheet.title(entry), sheet.measure(table, entry.row, column) or "-"]
                    for entry in entries[place * LINES : (place + 1) * LINES]
                ]
                yield self._list(
                    sheet,
                    f"List of {table.noun[1]} by {column.label.lower()}{f', part {_letter(place)}' if urls[1:] else ''}",
                    f"The {table.noun[1]} of which {self._wiki} knows, in the order of their names.",
                    (_upper(table.noun[0]), column.label),
                    lines,
                    [f"[Part {_letter(other)}]({there})" for other, there in enumerate(urls) if there != url],
                )  # fmt: skip

    def _list_columns(self, table: Table) -> list[Column]:
        facts = [column for column in table.columns if column.name != table.title]
        chance = Random(f"{self.fiction.recipe.seed}/lists/{table.name}")
        return sorted(
            chance.sample(facts, min(LISTS, len(facts) // 2 or len(facts))), key=facts.index
        )

    def _list_url(self, table: Table, column: Column, place: int) -> str:
        name = f"List_of_{table.noun[1]}_by_{column.label.lower()}".replace(" ", "_")
        return f"{self._hosts[self._wiki]}wiki/{quote(name)}{f'/{_letter(place)}' if place else ''}"

    def _list(
        self,
        sheet: _Sheet,
        heading: str,
        intro: str,
        head: Sequence[str],
        lines: Sequence[Any],
        links: Sequence[str],
    ) -> WebPage:
        text = _template("list")(
            heading=heading, intro=intro, head=head, lines=lines, links=[*links, self._main]
        )
        return WebPage(
            url=sheet.url,
            title=f"{heading} - {self._wiki}",
            text=text,
            kind="table",
            teaser=f"{heading}: an overview with links to all articles.",
            cells=tuple(sheet.cells),
        )

    def _main_page(self) -> WebPage:
        url = f"{self._hosts[self._wiki]}wiki/Main_Page"
        lists = [
            f"[List of {table.noun[1]} by {column.label.lower()}]({self._list_url(table, column, 0)})"
            for table in self.fiction.schema.tables
            if table.title
            for column in self._list_columns(table)
        ]
        return self._list(
            _Sheet(self, url),
            "Main page",
            f"{self._wiki}: {self.fiction.schema.about}",
            (),
            lists,
            (),
        )

    def _category(self, table: Table) -> str:
        columns = self._list_columns(table)
        name = _upper(table.noun[1])
        return f"[{name}]({self._list_url(table, columns[0], 0)})" if columns else name

    def _some(
        self, sheet: _Sheet, entry: _Entry, chance: Random, few: int
    ) -> list[tuple[Column, str]]:
        """A few facts about a row as sentences, in an order of their own."""
        facts = list(entry.table.columns)
        chance.shuffle(facts)
        said = ((one, sheet.sentence(entry, one, chance.randrange(4))) for one in facts)
        found: list[tuple[Column, str]] = []
        for column, sentence in said:
            if sentence is not None:
                found.append((column, sentence))
            if len(found) == few:
                break
        return found

    def _day(self, entry: _Entry, chance: Random) -> date:
        """When something was written: after the last that it could tell, and before today."""
        dates = [
            entry.row[one.name]
            for one in entry.table.columns
            if one.type == "date" and entry.row[one.name]
        ]
        last = max((date.fromisoformat(one) for one in dates), default=date.min)
        first = max(last, self._today - timedelta(days=3 * 365))
        days = (self._today - first).days
        return first + timedelta(days=chance.randint(1, days)) if days > 1 else self._today

    def _news(self, entry: _Entry) -> WebPage:
        sheet = _Sheet(self, entry.news)
        sheet.title(entry)
        chance = Random(entry.news)
        facts = self._some(sheet, entry, chance, 3)
        about = facts[0][0].label.lower() if facts else "what is known"
        author = chance.choice(self._people)
        headline = ("{}: a look at the {}", "{}: what we know about the {}", "The {1} of {0}, checked", "{}, and the question of the {}")[entry.variant].format(entry.title, about)  # fmt: skip
        day = self._day(entry, chance)
        text = _template("news")(
            headline=headline,
            author=author,
            day=f"{day:%B} {day.day}, {day.year}",
            site=self._paper,
            title=entry.title,
            url=entry.url,
            article=_article_of(entry.table.noun[0]),
            variant=entry.variant,
            sentences=[sentence for _, sentence in facts] or ["Nothing new is known."],
            links=[
                f"[{entry.title} - official site]({entry.official})"
                if entry.official
                else entry.link
            ],
        )
        return WebPage(
            url=entry.news,
            title=f"{headline} | {self._paper}",
            text=text,
            kind="news",
            date=day.isoformat(),
            teaser=f"Our readers asked about {entry.title}. {author} looked into the {about}.",
            cells=tuple(sheet.cells),
        )

    def _official(self, entry: _Entry) -> WebPage:
        sheet, table = _Sheet(self, entry.official), entry.table
        sheet.title(entry)
        facts = [column for column in table.columns if column.name != table.title]
        chosen = sorted(
            Random(entry.official).sample(facts, (len(facts) + 1) // 2), key=facts.index
        )
        box = [
            (one.label, value)
            for one in chosen
            if (value := sheet.measure(table, entry.row, one)) is not None
        ]
        links = [entry.link, *([f"[In the news]({entry.news})"] if entry.news else [])]
        text = _template("official")(title=entry.title, variant=entry.variant, box=box, links=links)
        return WebPage(
            url=entry.official,
            title=f"{entry.title} | Official site",
            text=text,
            kind="official",
            teaser=f"The official pages of {entry.title}. Facts, contact and news.",
            cells=tuple(sheet.cells),
        )

    def _forum(self, entry: _Entry) -> WebPage:
        sheet = _Sheet(self, entry.forum)
        sheet.title(entry)
        chance = Random(entry.forum)
        facts = self._some(sheet, entry, chance, 2)
        day = self._day(entry, chance)
        headline = ("What do you know about {}?", "{}: who can help?", "Looking for facts about {}", "{}: is this right?")[entry.variant].format(entry.title)  # fmt: skip
        asker, *others = (
            name.split()[0].lower() + "_" + name.split()[-1][:2].lower()
            for name in chance.sample(self._people, 3)
        )
        posts = [
            (other, chance.randint(0, 60), sentence)
            for other, (_, sentence) in zip(others, facts, strict=False)
        ]
        text = _template("forum")(
            headline=headline,
            site=self._board,
            plural=_upper(entry.table.noun[1]),
            asker=asker,
            day=f"{day:%B} {day.day}, {day.year}",
            title=entry.title,
            url=entry.url,
            variant=entry.variant,
            posts=posts,
        )
        return WebPage(
            url=entry.forum,
            title=f"{headline} - {self._board}",
            text=text,
            kind="forum",
            date=day.isoformat(),
            teaser=f"A question about {entry.title}, with answers by members of the {self._board}.",
            cells=tuple(sheet.cells),
        )


def _chunks(rows: Sequence[Any]) -> int:
    return -(-len(rows) // LINES)


def _next(entry: _Entry, part: _Part, place: int) -> str:
    return f"{entry.url}/{part.slug}/{_letter(place)}"


def _letter(place: int) -> str:
    """`A` to `Z`, then `AA`, …: a number could be one that the world withholds from searches."""
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _slug(text: str) -> str:
    return "-".join("".join(one if one.isalnum() else " " for one in text.lower()).split())


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _article_of(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


@cache
def _environment() -> Any:
    sandbox = require("jinja2.sandbox", extra="fiction")
    return sandbox.SandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        undefined=require("jinja2", extra="fiction").StrictUndefined,
    )


@cache
def _template(name: str) -> Callable[..., str]:
    path = resources.files(__package__).joinpath(f"templates/{name}.md.j2")
    return _environment().from_string(path.read_text(encoding="utf-8")).render


@cache
def _sentence(text: str) -> Callable[..., str]:
    return _environment().from_string(text).render
