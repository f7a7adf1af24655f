"""How git writes paths, dates, people and commits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial

import pygit2

from agentworld_sim.engines.shell.git.git_failure import not_computed
from agentworld_sim.engines.shell.git.repository import Repository, bytes_of, text_of

_C_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def quote_path(name: str, *, blanks: bool = False) -> str:
    """A path as git shows it: in quotes, with octal bytes, if it is not plain ASCII."""
    raw = bytes_of(name)
    if all(32 <= byte < 127 and byte not in _C_ESCAPES for byte in raw):
        return f'"{name}"' if blanks and " " in name else name
    shown = (
        f"\\{_C_ESCAPES[byte]}"
        if byte in _C_ESCAPES
        else chr(byte)
        if 32 <= byte < 127
        else f"\\{byte:03o}"
        for byte in raw
    )
    return f'"{"".join(shown)}"'


def many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def message_of(commit: pygit2.Commit) -> str:
    return text_of(commit.raw_message).lstrip("\n")


def subject_of(message: str) -> str:
    return " ".join(line.strip() for line in message.strip("\n").split("\n\n")[0].split("\n"))


def clean_message(text: str) -> str:
    """A commit's message without blank lines at its ends and in a row."""
    return (
        re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")
        + "\n"
    )


def date_text(who: pygit2.Signature, form: str) -> str:
    """The date of a signature as `--date=` asks for it."""
    moment = datetime.fromtimestamp(who.time, timezone(timedelta(minutes=who.offset)))
    if form.startswith("format:"):
        return moment.strftime(form[7:])
    zone = f"{moment:%z}"
    forms = {
        "default": f"{moment:%a %b} {moment.day} {moment:%H:%M:%S %Y} {zone}",
        "short": f"{moment:%Y-%m-%d}",
        "raw": f"{who.time} {zone}",
        "unix": str(who.time),
        "iso": f"{moment:%Y-%m-%d %H:%M:%S} {zone}",
        "iso-strict": moment.isoformat(),
        "rfc": f"{moment:%a}, {moment.day} {moment:%b %Y %H:%M:%S} {zone}",
    }
    if (form or "default") not in forms:
        raise not_computed(f"log --date={form}")
    return forms[form or "default"]


def author_of(commit: pygit2.Commit) -> str:
    """The author of a commit, with the date, as a commit has it."""
    who = commit.author
    return f"{who.name} <{who.email}> {date_text(who, 'raw')}"


def names_at(repo: Repository) -> dict[str, list[str]]:
    """What `--decorate` shows of each commit: HEAD and its branch, tags, branches."""
    found: dict[str, list[str]] = {}
    if repo.head:
        found[repo.head] = [f"HEAD -> {repo.branch}" if repo.branch else "HEAD"]
    for full, oid in reversed(repo.refs("refs/").items()):
        kind, _, short = full.removeprefix("refs/").partition("/")
        if full != f"refs/heads/{repo.branch}":
            shown = f"tag: {short}" if kind == "tags" else short or full
            found.setdefault(str(repo.commit(oid).id), []).append(shown)
    return found


@dataclass(slots=True)
class CommitStyle:
    """How commits are written."""

    form: str = "medium"
    """A name of git's, or `format:` and `tformat:` with placeholders."""
    date: str = ""
    short: bool = False
    names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What is shown beside the ids."""


def commit_text(repo: Repository, commit: pygit2.Commit, style: CommitStyle) -> str:
    """One commit as `git log` shows it, without its changes."""
    if ":" in style.form:
        return _fill_in(repo, commit, style)
    oid, message = str(commit.id), message_of(commit)
    shown = repo.short(oid) if style.short else oid
    if names := style.names.get(oid):
        shown += f" ({', '.join(names)})"
    if style.form == "oneline":
        return f"{shown} {subject_of(message)}\n"
    lines = [f"commit {shown}"]
    if len(commit.parent_ids) > 1:
        lines.append("Merge: " + " ".join(repo.short(str(parent)) for parent in commit.parent_ids))
    rows = [
        ("Author", "author", "author"),
        ("AuthorDate", "", "author"),
        ("Commit", "committer", "committer"),
        ("CommitDate", "", "committer"),
    ]
    wanted = {"medium": rows[:2], "short": rows[:1], "full": rows[::2], "fuller": rows}[style.form]
    for word, person, role in wanted:
        who: pygit2.Signature = getattr(commit, role)
        value = f"{who.name} <{who.email}>" if person else date_text(who, style.date)
        width = 12 if style.form == "fuller" else 8
        word = "Date" if word == "AuthorDate" and style.form == "medium" else word
        lines.append(f"{word + ':':<{width}}{value}")
    text = subject_of(message) if style.form == "short" else message.rstrip("\n")
    return (
        "\n".join([*lines, "", *(f"    {line}" for line in text.expandtabs().split("\n"))]) + "\n"
    )


_PLACEHOLDER = re.compile(r"%(x[0-9a-fA-F]{2}|[ac].|.)")
_DATES = {"D": "rfc", "i": "iso", "I": "iso-strict", "t": "unix", "s": "short"}


def _fill_in(repo: Repository, commit: pygit2.Commit, style: CommitStyle) -> str:
    """A commit by a form with placeholders.

    Raises:
        EngineFailure: one of them is not computed.
    """
    message, oid = message_of(commit), str(commit.id)
    parents = [str(parent) for parent in commit.parent_ids]
    subject, body = subject_of(message), message.rstrip("\n").partition("\n\n")[2].lstrip("\n")
    values: dict[str, Callable[[], str]] = {
        "H": lambda: oid,
        "h": lambda: repo.short(oid),
        "T": lambda: str(commit.tree_id),
        "t": lambda: repo.short(str(commit.tree_id)),
        "P": lambda: " ".join(parents),
        "p": lambda: " ".join(map(repo.short, parents)),
        "s": lambda: subject,
        "b": lambda: body + "\n" * bool(body),
        "B": lambda: message,
        "D": lambda: ", ".join(names_at(repo).get(oid, ())),
        "d": lambda: f" ({', '.join(names)})" if (names := names_at(repo).get(oid)) else "",
        "n": lambda: "\n",
        "%": lambda: "%",
    }
    for letter, who in (("a", commit.author), ("c", commit.committer)):
        values |= {f"{letter}{key}": partial(str, who.name) for key in "nN"}
        values |= {f"{letter}{key}": partial(str, who.email) for key in "eE"}
        values[f"{letter}d"] = partial(date_text, who, style.date)
        values |= {f"{letter}{key}": partial(date_text, who, form) for key, form in _DATES.items()}

    def value(match: re.Match[str]) -> str:
        key = match[1]
        if key[0] == "x" and len(key) == 3:
            return chr(int(key[1:], 16))
        if key not in values:
            raise not_computed(f"log --format=%{key}")
        return values[key]()

    return _PLACEHOLDER.sub(value, style.form.partition(":")[2])
