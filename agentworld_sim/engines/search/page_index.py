"""`PageIndex`: the pages of a world in a SQLite database, with their words (FTS5) and the facts that stand on them."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from agentworld_sim.engines.search.web_page import Cell, WebPage

FREQUENT = 0.2
"""A word in more than this part of the pages finds nothing in particular."""

POSTINGS = 6_000
"""Pages that one query ranks, about: its rarest words are looked up first. At 100,000 pages, ranking what every
word of a long question finds takes 50 ms."""

PAGES_OF_ANY_WORD = 200
"""In a small index no word is too frequent."""

WORDS = 32
"""Words of a query that are looked up, as search engines do."""

_TOKENIZER = "porter unicode61"
_SCHEMA = f"""
create table page (number integer primary key, url text not null unique, title text not null, teaser text not null,
  text text not null, kind text not null, date text not null, host text not null);
create table page_cell (about text not null, key not null, field text not null, page integer not null,
  primary key (about, key, field, page)) without rowid;
create index cells_of_page on page_cell (page);
create virtual table page_words using fts5(
  title, teaser, text, content='page', content_rowid='number', tokenize='{_TOKENIZER}');
insert into page_words (page_words, rank) values ('rank', 'bm25(6.0, 2.0, 1.0)');
"""
Accept = Callable[[WebPage], bool]

_OF_HOST = "select number from page where (host = ? or host like ?)"
_COLUMNS = "url, title, text, kind, date, teaser"

STOP_WORDS = frozenset(
    "a about all also an and any are as at be been but by can did do does for from had has have he her his how i if in"
    " into is it its list many me more most much my no not of on one or our out over she so some than that the their"
    " them then there these they this those to under up us was we were what when where which who whom whose why will"
    " with would you your".split()
)


class _Query(NamedTuple):
    """What a user typed, read."""

    words: Sequence[str]
    phrases: Sequence[str]
    """Each must stand on the page."""
    without: Sequence[str]
    """None may stand on the page."""
    host: str
    """The host, or the end of it, that the page must be of."""


_PARTS = re.compile(r'(?P<minus>(?<!\S)-)?(?:"(?P<phrase>[^"]*)"|(?P<plain>[^\s"]+))')
_WORD = re.compile(r"\w+")


def _read(query: str) -> _Query:
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    host = ""
    for part in _PARTS.finditer(query):
        plain, phrase = part["plain"] or "", part["phrase"]
        name, _, value = plain.partition(":")
        found = _WORD.findall(plain if phrase is None else phrase)
        if name.lower() == "site" and value and not part["minus"]:
            host = "".join(re.findall(r"[\w.-]", host_of(f"https://{value}")))
        elif part["minus"]:
            without.append(" ".join(found))
        elif phrase is not None and len(found) > 1:
            phrases.append(" ".join(found))
        else:
            words += found
    kept = list(words_of(" ".join(words)))[:WORDS]
    return _Query(kept, phrases[:WORDS], [one for one in without if one][:WORDS], host)


def words_of(text: str) -> dict[str, None]:
    """The words of a text that tell something, in order, each once."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word: None for word in words if word not in STOP_WORDS}


class PageIndex:
    """Pages in one SQLite database. Searching reads only, so that the database may be shared and immutable.

    The same pages and the same query give the same results in the same order, on any machine.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """The connection is used by one thread at a time; its database holds an index, or is about to."""
        self._db = connection

    def write(self, pages: Iterable[WebPage]) -> None:
        """Writes an index of `pages` into the empty database.

        Raises:
            sqlite3.IntegrityError: two pages have one URL.
        """
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        for number, page in enumerate(pages, 1):
            self._db.execute(
                "insert into page values (?, ?, ?, ?, ?, ?, ?, ?)",
                (number, page.url, page.title, page.teaser, page.text, page.kind, page.date, host_of(page.url)),
            )  # fmt: skip
            self._db.executemany(
                "insert into page_cell values (?, ?, ?, ?)",
                ((*cell, number) for cell in set(page.cells)),
            )
        self._db.execute("insert into page_words (page_words) values ('rebuild')")
        self._db.execute("insert into page_words (page_words) values ('optimize')")

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        # The numbers are without gaps.
        return self._db.execute("select coalesce(max(number), 0) from page").fetchone()[0]

    def page(self, url: str) -> WebPage | None:
        """The page at exactly this URL, with its cells in order."""
        row = self._db.execute(
            f"select {_COLUMNS}, number from page where url = ?", (url,)
        ).fetchone()
        if row is None:
            return None
        cells = self._db.execute(
            "select about, key, field from page_cell where page = ? order by about, key, field",
            row[-1:],
        )
        return _page(row, tuple(Cell(*cell) for cell in cells))

    def has_host(self, host: str) -> bool:
        """Whether any page is of this host."""
        return self._db.execute("select 1 from page where host = ?", (host,)).fetchone() is not None

    def hosts(self) -> list[str]:
        """The hosts of the pages, without `www.`."""
        return [host for (host,) in self._db.execute("select distinct host from page")]

    def search(
        self, query: str, limit: int = 10, accept: Accept = lambda page: True
    ) -> list[WebPage]:
        """What a search engine shows for what a user typed: pages without their cells, best first.

        Words may stand on a page, `"a phrase"` must, `-word` must not, `site:host` must be its host. About two
        of ten results are less to the point, as in any search engine: others that have some of the words, and
        pages about something else where there are too few. No word in common with any page: no results.

        Args:
            query: Anything that a user types.
            limit: How many results at most.
            accept: Says of a page whether it may be a result; the next one takes the place of one that may not.
        """
        asked = _read(query)
        numbers = self._rank(asked, 4 * limit)
        if numbers and not (asked.host or asked.phrases or asked.without):
            drawn = random.Random(f"results/{self._count}/{asked}")
            numbers = _mix(numbers, limit, drawn)
            numbers += (drawn.randint(1, self._count) for _ in range(2 * limit))
        return self._first(numbers, limit, accept)

    def hits(
        self, query: str, limit: int = 10, accept: Accept = lambda page: True
    ) -> list[WebPage]:
        """The same with nothing but what was asked for."""
        return self._first(self._rank(_read(query), 4 * limit), limit, accept)

    def _first(self, numbers: Iterable[int], limit: int, accept: Accept) -> list[WebPage]:
        pages = filter(accept, map(self._load, dict.fromkeys(numbers)))
        return list(islice(pages, limit))

    def _load(self, number: int) -> WebPage:
        row = self._db.execute(
            f"select {_COLUMNS} from page where number = ?", (number,)
        ).fetchone()
        return _page(row)

    def _rank(self, asked: _Query, limit: int) -> list[int]:
        words = self._telling(asked.words) if asked.words else []
        if not words and not asked.phrases and not asked.host:
            return []
        must = " AND ".join(_phrase(phrase) for phrase in asked.phrases)
        may = " OR ".join(_phrase(word) for word in words)
        match = " AND ".join(f"({one})" for one in (must, may) if one)
        if not match:
            hosts = f"{_OF_HOST} order by number limit ?"
            return [one for (one,) in self._db.execute(hosts, (*_hosts(asked.host), limit))]
        if asked.without:
            match = f"({match}) NOT ({' OR '.join(map(_phrase, asked.without))})"
        statement, given = "select rowid from page_words where page_words match ?", [match]
        if asked.host:
            statement += f" and rowid in ({_OF_HOST})"
            given += _hosts(asked.host)
        rows = self._db.execute(f"{statement} order by rank, rowid limit {limit}", given)
        return [number for (number,) in rows]

    def _telling(self, words: Sequence[str]) -> list[str]:
        """The words by which pages are looked up, the rarest first: without those that stand on no page, and
        without the frequent ones."""
        counts = ((self._pages_with(word), word) for word in words)
        found: list[str] = []
        postings = 0
        for count, word in sorted(one for one in counts if one[0]):
            postings += count
            frequent = count > max(FREQUENT * self._count, PAGES_OF_ANY_WORD)
            if found and (frequent or postings > POSTINGS):
                break
            found.append(word)
        return found

    def _pages_with(self, word: str) -> int:
        """On how many pages a word stands."""
        # A table of the connection's own: the database may be immutable.
        self._db.execute(
            "create virtual table if not exists temp.page_terms using fts5vocab('main', 'page_words', 'row')"
        )
        statement = "select doc from temp.page_terms where term = ?"
        counts = (next(self._db.execute(statement, (term,)), (0,))[0] for term in _terms_of(word))
        return min(counts, default=0)


@cache
def _tokenizer() -> sqlite3.Connection:
    """What a word is to an index, only the tokenizer of an index can tell."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute(f"create virtual table words using fts5(word, tokenize='{_TOKENIZER}')")
    connection.execute("create virtual table terms using fts5vocab(words, instance)")
    return connection


_tokenizing = Lock()


@lru_cache(maxsize=16_384)
def _terms_of(word: str) -> tuple[str, ...]:
    with _tokenizing:
        words = _tokenizer()
        words.execute("insert into words (rowid, word) values (1, ?)", (word,))
        found = tuple(term for (term,) in words.execute("select term from terms"))
        words.execute("delete from words")
    return found


def _mix(numbers: Sequence[int], limit: int, drawn: random.Random) -> list[int]:
    """The pages in the order in which they are shown: behind the first three, some of the later ones among them."""
    best, others = list(numbers[:limit]), list(numbers[limit:])
    few = min(limit // 5, len(others), max(0, limit - 3))
    for place in sorted(drawn.sample(range(3, limit), few)) if few else ():
        best.insert(place, others.pop(drawn.randrange(len(others))))
    return best + others


def host_of(url: str) -> str:
    """The host of an absolute URL, without `www.`."""
    return re.split(r"[/?#:]", url.partition("://")[2], maxsplit=1)[0].lower().removeprefix("www.")


def _hosts(host: str) -> list[str]:
    return [host, f"%.{host}"]


def _phrase(words: str) -> str:
    return f'"{words}"'


def _page(row: Sequence[Any], cells: tuple[Cell, ...] = ()) -> WebPage:
    return WebPage(**dict(zip(_COLUMNS.split(", "), row, strict=False)), cells=cells)
