"""One repository of a world: where it lies, what holds for it, its refs and their logs, and how revisions are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import FileMode, ObjectType

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_settings import Setting, settings_of
from agentworld_sim.engines.shell.git.host_copy import copy_of
from agentworld_sim.types.files import normal_path, parent_of

NOTHING = "0" * 40
_TOLD = re.compile(
    r"branch\..*\.(remote|merge)$|remote\..*\.(fetch|url)$|core\.(filemode|autocrlf|quotepath)$"
)
UNKNOWN = (
    "ambiguous argument '{}': unknown revision or path not in the working tree.\n"
    "Use '--' to separate paths from revisions, like this:\n"
    "'git <command> [<revision>...] -- [<file>...]'"
)
_WHO_ARE_YOU = """{} identity unknown

*** Please tell me who you are.

Run

  git config --global user.email "you@example.com"
  git config --global user.name "Your Name"

to set your account's default identity.
Omit --global to set the identity only in this repository.

fatal: unable to auto-detect email address (got '{}@{}.(none)')
"""


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


Side = pygit2.IndexEntry | None


def entries(index: pygit2.Index) -> list[tuple[str, pygit2.IndexEntry]]:
    """Paths and entries of an index; a file in conflict comes once for each of its versions."""
    return [(str(one.path), one) for one in cast("Iterable[pygit2.IndexEntry]", index)]


def conflicts_of(index: pygit2.Index) -> dict[str, tuple[Side, Side, Side]]:
    """The files that a merge left in conflict: the base's version, ours, theirs."""
    found = cast("Iterable[tuple[Side, Side, Side]]", index.conflicts or ())
    return {next(str(side.path) for side in sides if side): sides for sides in found}


def drop_conflict(index: pygit2.Index, name: str) -> None:
    if index.conflicts is not None and name in index.conflicts:
        del index.conflicts[name]


def is_ref_name(name: str) -> bool:
    """Whether a branch or a tag can have a name."""
    return name[:1] != "-" and pygit2.reference_is_valid_name(f"refs/tags/{name}")


class Repository:
    """The repository around `folder`; `extra` are settings given on the command line."""

    def __init__(self, call: CommandCall, folder: str, extra: Sequence[Setting]) -> None:
        self.call, self.files, self._folder, self._extra = call, call.files, folder, extra
        self.top, self.git_dir, self.bare = self._find()
        self.prefix = f"{folder[len(self.top) :].strip('/')}/".lstrip("/")
        self.copy = copy_of(self.files, self.top, self.git_dir)
        self.written = False
        """Whether the world is to have what changed in the copy."""

    def _find(self) -> tuple[str, str, bool]:
        """The top of the work tree, the `.git` folder, and whether there is no work tree."""
        folder = self._folder
        while True:
            place = f"{folder.rstrip('/')}/.git"
            with suppress(FileNotFoundError, NotADirectoryError):
                if self.files.stat(place).kind == "file":
                    raise not_computed(f"work tree whose {place} is a file")
            for one, bare in ((place, False), (folder, True)):
                if self._is_repository(one):
                    return folder, self.files.realpath(one), bare
            if folder == "/":
                raise fatal("not a git repository (or any of the parent directories): .git")
            folder = parent_of(folder)

    def _is_repository(self, place: str) -> bool:
        return all(self.files.exists(f"{place}/{name}") for name in ("HEAD", "objects", "refs"))

    def name_of(self, given: str) -> str:
        """A path as the command line gives it, from the top of the work tree; empty for the top."""
        path = normal_path(given if given[:1] == "/" else f"{self._folder}/{given}")
        top = self.top.rstrip("/")
        if path != self.top and not path.startswith(top + "/"):
            raise fatal(f"{given}: '{given}' is outside repository at '{self.top}'")
        return path[len(top) + 1 :]

    @cached_property
    def library(self) -> pygit2.Repository:
        """The repository as libgit2 sees it: a copy, made equal to the world's now."""
        if self.setting("extensions.objectformat", "sha1") != "sha1":
            raise fatal("unknown repository extension found:\n\tobjectformat")
        told = ""
        for name, value in self.settings:
            section, _, key = name.rpartition(".")
            head, _, inner = section.partition(".")
            if _TOLD.match(name):
                inner, value = (
                    text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "")
                    for text in (inner, value)
                )
                quoted = f' "{inner}"' if inner else ""
                told += f'[{head}{quoted}]\n\t{key} = "{value}"\n'
        own, excludes = self.setting("core.excludesfile", "~/.config/git/ignore"), b""
        with suppress(OSError):
            excludes = self.files.read(own.replace("~", self.call.env.get("HOME", "/"), 1))
        self.copy.bring(told, excludes)
        return pygit2.Repository(str(self.copy.folder / ".git"))

    @property
    def folder(self) -> Path:
        """Where the copy lies, equal to the world's files."""
        self.library  # noqa: B018 -- brings it there
        return self.copy.folder

    @property
    def index(self) -> pygit2.Index:
        """The index as it stands in the file.

        Raises:
            GitFailure: it is damaged.
        """
        index = self.library.index
        if (self.folder / ".git/index").exists():
            try:
                index.read()
            except pygit2.GitError:
                raise GitFailure(
                    "error: bad index file sha1 signature\nfatal: index file corrupt\n"
                ) from None
        return index

    def finish(self) -> None:
        """Gives the world what changed."""
        if self.written:
            links = {name for name, entry in entries(self.index) if entry.mode == FileMode.LINK}
            self.copy.take(links)

    def text(self, name: str) -> str | None:
        """A file below `.git`; `None` where there is none."""
        try:
            return text_of((self.folder / ".git" / name).read_bytes())
        except OSError:
            return None

    def put(self, name: str, text: str) -> None:
        path = self.folder / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes_of(text))
        self.written = True

    def drop(self, *names: str) -> None:
        for name in names:
            (self.folder / ".git" / name).unlink(missing_ok=True)
        self.written = True

    def conclude(self) -> None:
        """Forgets the merge, the cherry-pick or the revert that is under way."""
        self.drop("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD")

    # Settings

    @cached_property
    def settings(self) -> list[Setting]:
        """All settings, those that win last."""
        return [*settings_of(self.call, f"{self.git_dir}/config"), *self._extra]

    def setting(self, name: str, default: str = "") -> str:
        return next((value for key, value in reversed(self.settings) if key == name), default)

    def ident(self, role: str, date: str = "", *, guess: bool = False) -> str:
        """The `author` or `committer` of what is made now, with the date; `guess` is for logs, which need no name.

        Raises:
            GitFailure: nobody said who that is.
        """
        env, machine = self.call.env, self.call.machine
        name, email = (
            env.get(f"GIT_{role.upper()}_{key.upper()}")
            or self.setting(f"{role}.{key}")
            or self.setting(f"user.{key}")
            for key in ("name", "email")
        )
        guessed = f"{machine.user}@{machine.hostname}.(none)" if guess else ""
        email = email or env.get("EMAIL") or guessed
        if not email:
            raise GitFailure(_WHO_ARE_YOU.format(role.title(), machine.user, machine.hostname))
        when = self.date(date or env.get(f"GIT_{role.upper()}_DATE", ""))
        return f"{name or machine.user} <{email}> {when}"

    def date(self, text: str) -> str:
        """Seconds and zone of a date as people write it; now without one."""
        if not text:
            return f"{self.call.clock.now_us() // 1_000_000} +0000"
        if match := re.fullmatch(r"@?(\d{5,}|(?<=@)\d+)(?: ([+-]\d{4}))?", text):
            return f"{match[1]} {match[2] or '+0000'}"
        try:
            moment = datetime.fromisoformat(re.sub(r" ([+-]\d)", r"\1", text.strip()))
        except ValueError:
            raise not_computed(f"date {text}") from None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return f"{int(moment.timestamp())} {moment:%z}"

    def moment(self, text: str) -> int:
        """Seconds of a date that `log --since` takes."""
        now = datetime.fromtimestamp(self.call.clock.now_us() // 1_000_000, UTC)
        words = {"yesterday": "1 day", "today": "0 days"}.get(text, text).replace(".", " ")
        if match := re.fullmatch(r"(\d+) (minute|hour|day|week|month|year)s?( ago)?", words):
            count, unit = int(match[1]), match[2]
            if unit in ("month", "year"):
                months = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
                # A day that the month lacks is one of the next.
                first = now.replace(year=months // 12, month=months % 12 + 1, day=1)
                return int((first + timedelta(days=now.day - 1)).timestamp())
            return int((now - timedelta(**{f"{unit}s": count})).timestamp())
        day = re.fullmatch(r"\d{4}-\d\d-\d\d", text)
        return int(self.date(f"{text} {now:%H:%M:%S}" if day else text).split()[0])

    # Refs

    def ref(self, name: str) -> str | None:
        """The id that a full name (`HEAD`, `refs/heads/main`) stands for."""
        try:
            return str(self.library.references[name].resolve().target)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def refs(self, under: str) -> dict[str, str]:
        """Full names that begin with `under` and their ids, in order."""
        names = sorted(name for name in self.library.references if name.startswith(under))
        return {name: oid for name in names if (oid := self.ref(name))}

    def full_ref(self, name: str) -> str | None:
        """The full name of a ref that is named shortly."""
        forms = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}")
        full = (form.format(name) for form in forms)
        own = (one for one in full if one[:5] == "refs/" or one.isupper())
        return next((one for one in own if self.ref(one)), None)

    @property
    def branch(self) -> str | None:
        """The name of the branch that is checked out; `None` when HEAD is detached."""
        text = self.text("HEAD") or ""
        return text[5:].strip().removeprefix("refs/heads/") if text.startswith("ref: ") else None

    @property
    def head(self) -> str | None:
        return self.ref("HEAD")

    def set_ref(self, name: str, oid: str, said: str) -> None:
        """Moves a ref, `HEAD` through its branch, with a line in the logs."""
        branch = f"refs/heads/{self.branch}" if self.branch else "HEAD"
        target = branch if name == "HEAD" else name
        before = self.ref(target) or NOTHING
        self.put(target, oid + "\n")
        # A branch that stays where it is gets no line, but HEAD does.
        self._note(before, oid, said, *[target] * (before != oid or target == "HEAD"))
        self._note(before, oid, said, *["HEAD"] * (target == branch != "HEAD"))

    def set_head(self, branch: str | None, oid: str | None, said: str) -> None:
        """Checks out a branch or, without one, a commit."""
        before = self.head or NOTHING
        self.put("HEAD", f"ref: refs/heads/{branch}\n" if branch else f"{oid}\n")
        if oid:
            self._note(before, oid, said, "HEAD")

    def _note(self, before: str, after: str, said: str, *names: str) -> None:
        for name in names:
            if name.startswith(("HEAD", "refs/heads/", "refs/remotes/", "refs/stash")):
                line = f"{before} {after} {self.ident('committer', guess=True)}\t{' '.join(said.split())}\n"
                self.put(f"logs/{name}", (self.text(f"logs/{name}") or "") + line)

    def drop_ref(self, name: str) -> None:
        self.library.references.delete(name)
        self.drop(f"logs/{name}")

    def log_of(self, name: str) -> list[tuple[str, str, str]]:
        """Old id, new id and what was done, of a ref's log, the youngest first."""
        parts = (line.partition("\t") for line in (self.text(f"logs/{name}") or "").splitlines())
        return [(head[:40], head[41:81], said) for head, _, said in parts][::-1]

    def upstream(self, branch: str | None) -> str | None:
        """The full name of the ref that a branch follows."""
        remote, merge = (self.setting(f"branch.{branch}.{key}") for key in ("remote", "merge"))
        if not remote or not merge:
            return None
        there = f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"
        return merge if remote == "." else there

    # Objects and revisions

    def get(self, oid: str) -> pygit2.Object:
        """An object.

        Raises:
            GitFailure: it is missing or damaged.
        """
        try:
            return self.library[oid]
        except KeyError:
            raise fatal(f"unable to read {oid}") from None
        except (pygit2.GitError, ValueError):
            place = f".git/objects/{oid[:2]}/{oid[2:]}"
            raise fatal(f"loose object {oid} (stored in {place}) is corrupt") from None

    def find(self, name: str) -> str | None:
        """The id of the object that a revision names; `None` where there is none.

        Raises:
            GitFailure: a short id is ambiguous, a log is too short.
        """
        name = re.sub(r"^@(?=$|[~^:])", "HEAD", name).replace(":./", f":{self.prefix}")
        if re.search(r"@\{(?!-?\d+\}|u\}|upstream\}|push\})", name):
            return None
        try:
            return str(self.library.revparse_single(name).id)
        except ValueError as failure:
            if "ambiguous" not in str(failure) or not re.match("[0-9a-fA-F]{4}", name):
                return None
            raise GitFailure(
                f"error: short object ID {name} is ambiguous\nfatal: {UNKNOWN.format(name)}\n"
            ) from None
        except KeyError:
            at = re.fullmatch(r"(.*)@\{(\d+)\}", name)
            if at and (full := self.full_ref(at[1] or "HEAD")):
                count = len(self.log_of(full))
                raise fatal(f"log for '{at[1] or 'HEAD'}' only has {count} entries") from None
            return None
        except pygit2.GitError:
            raise fatal(f"bad object {name}") from None

    def resolve(self, name: str) -> str:
        """The id of what a revision names.

        Raises:
            GitFailure: nothing is named so.
        """
        if oid := self.find(name):
            return oid
        revision, colon, path = name.partition(":")
        if colon and revision and not self.find(revision):
            raise fatal(f"invalid object name '{revision}'.")
        if colon and revision and self.find(revision):
            if self.prefix and self.find(f"{revision}:{self.prefix}{path}"):
                raise not_computed(f"show {name} in a folder below, for {revision}:./{path}")
            here = "exists on disk, but not" if (self.folder / path).exists() else "does not exist"
            raise fatal(f"path '{path}' {here} in '{revision}'")
        raise fatal(UNKNOWN.format(name))

    def commit(self, name: str | None = None) -> pygit2.Commit:
        """The commit that a revision names, through tags; HEAD's without one.

        Raises:
            GitFailure: nothing, or something else is named so.
        """
        found = self.get(self.resolve(name or "HEAD"))
        try:
            return found.peel(pygit2.Commit)
        except (pygit2.GitError, ValueError):
            raise error(f"object {found.id} is a {found.type_str}, not a commit", 128) from None

    def tree(self, name: str | None) -> pygit2.Tree:
        """The tree that a revision names; an empty one without a name."""
        if name is None:
            return self.library[self.library.TreeBuilder().write()].peel(pygit2.Tree)
        return self.get(self.resolve(name)).peel(pygit2.Tree)

    def short(self, oid: str) -> str:
        return self.get(oid).short_id

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, author: str = ""
    ) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines.append(f"author {author or self.ident('author')}")
        lines.append(f"committer {self.ident('committer')}")
        self.written = True
        return str(
            self.library.write(ObjectType.COMMIT, bytes_of("\n".join([*lines, "", message])))
        )

    def kind_of(self, name: str) -> str:
        """What a revision is called in a sentence."""
        full = self.full_ref(name) or ""
        kinds = {"heads": "branch", "tags": "tag", "remotes": "remote-tracking branch"}
        return kinds.get(full.removeprefix("refs/").partition("/")[0], "commit")

    def merge_base(self, one: str, other: str) -> str | None:
        found = self.library.merge_base(one, other)
        return str(found) if found else None

    def is_ancestor(self, one: str, other: str) -> bool:
        return one == other or self.library.descendant_of(other, one)
