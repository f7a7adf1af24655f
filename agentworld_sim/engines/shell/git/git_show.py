"""The commands of git that show changes and commits: `diff`, `log`, `show`, `reflog`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import pygit2
from pygit2.enums import DeltaStatus, DiffFlag, DiffOption

from agentworld_sim.engines.shell.git.git_failure import fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_stat import (
    counts_of,
    similarity,
    stat_table,
    summary,
    total_line,
    whitespace_faults,
)
from agentworld_sim.engines.shell.git.git_texts import (
    CommitStyle,
    commit_text,
    date_text,
    message_of,
    names_at,
    quote_path,
)
from agentworld_sim.engines.shell.git.repository import Repository, bytes_of, conflicts_of, text_of

DIFF_SHORT = "pU:wbasM::"
DIFF_LONG = (
    "stat numstat shortstat summary name-only name-status patch=p unified=U ignore-all-space=w ignore-space-change=b "
    "text=a no-patch=s no-renames find-renames=M no-color no-ext-diff diff-filter: ignore-space-at-eol"
)
TABLES = ("numstat", "stat", "shortstat", "summary", "name-only", "name-status")
_FLAGS = {
    "w": DiffOption.IGNORE_WHITESPACE,
    "b": DiffOption.IGNORE_WHITESPACE_CHANGE,
    "a": DiffOption.FORCE_TEXT,
    "ignore-space-at-eol": DiffOption.IGNORE_WHITESPACE_EOL,
}


@dataclass(frozen=True, slots=True)
class ChangesView:
    """How the options want changes shown: by default as a patch."""

    repo: Repository
    line: GitLine
    paths: Paths
    log: bool = False
    """Whether a commit's text comes before."""

    @property
    def how(self) -> tuple[DiffOption, int]:
        """What libgit2 is told: its flags and the lines of context."""
        flags = DiffOption.INDENT_HEURISTIC | DiffOption.INCLUDE_TYPECHANGE
        for name, flag in _FLAGS.items():
            flags |= flag if name in self.line else DiffOption.NORMAL
        return flags, int(self.line.value("U") or 3)

    def between(self, old: pygit2.Tree, new: pygit2.Tree) -> pygit2.Diff:
        return old.diff_to_tree(new, *self.how)

    def patches(self, diff: pygit2.Diff) -> list[pygit2.Patch]:
        """The changes that are wanted, renamed files found."""
        if self.line.value("M"):
            raise not_computed("diff -M with a share")
        if "no-renames" not in self.line:
            diff.find_similar()
        letters = self.line.value("diff-filter") or ""
        found: list[pygit2.Patch] = []
        for patch in diff:
            delta = patch.delta if patch else None
            if patch is None or delta is None or delta.status == DeltaStatus.CONFLICTED:
                continue
            letter = delta.status_char()
            wanted = letter in letters if letters.isupper() else letter.lower() not in letters
            same = patch.line_stats == (0, 0, 0) and not delta.flags & DiffFlag.BINARY
            other_mode = delta.old_file.mode != delta.new_file.mode
            shown = not same or letter != "M" or other_mode or "name-only" in self.line
            if delta.new_file.path in self.paths and (wanted or not letters) and shown:
                found.append(patch)
        return found

    def text(self, diff: pygit2.Diff) -> str:
        patches = self.patches(diff)
        if not patches or "s" in self.line:
            return ""
        tables = [name for name in TABLES if name in self.line]
        text = "".join(self._table(name, patches) for name in tables)
        if tables and not ("p" in self.line or "U" in self.line):
            return text
        between = "" if not tables else "---\n" if self.log else "\n"
        patch = "".join(self.patch_text(patch) for patch in patches)
        return (between + text + "\n" if self.log and tables else text + between) + patch

    def patch_text(self, patch: pygit2.Patch) -> str:
        delta = patch.delta
        head, at, rest = text_of(patch.data).partition("\n@@ ")
        if delta.status == DeltaStatus.RENAMED:
            share = f"similarity index {similarity(self.repo, delta)}%"
            head = re.sub(r"similarity index \d+%", share, head, count=1)
        if not at and "\nBinary " not in head:
            # libgit2 names both sides of an empty file.
            head = re.sub(r"^(?:---|\+\+\+) .*\n", "", head, flags=re.MULTILINE)
        # A tab ends a name with blanks, so that `patch` does not take the rest for a date.
        head = re.sub(r"^((?:---|\+\+\+) [ab]/.* .*)", r"\1\t", head, flags=re.MULTILINE)
        return head + at + rest

    def _table(self, name: str, patches: Sequence[pygit2.Patch]) -> str:
        if name == "stat":
            return stat_table(counts_of(patches))
        if name == "shortstat":
            return total_line(counts_of(patches))
        if name == "summary":
            return summary(self.repo, patches)
        if name == "numstat":
            counts = counts_of(patches)
            return "".join(
                f"-\t-\t{c.name}\n" if c.binary else f"{c.added}\t{c.removed}\t{c.name}\n"
                for c in counts
            )
        out = ""
        for delta in (patch.delta for patch in patches):
            old, new = quote_path(delta.old_file.path), quote_path(delta.new_file.path)
            letter = delta.status_char()
            if name == "name-only":
                out += f"{new}\n"
            elif letter == "R":
                out += f"R{similarity(self.repo, delta):03d}\t{old}\t{new}\n"
            else:
                out += f"{letter}\t{new}\n"
        return out


def plain_view(repo: Repository) -> ChangesView:
    return ChangesView(repo, GitLine([], [], None), Paths(repo, []))


@takes(DIFF_SHORT, f"{DIFF_LONG} cached staged exit-code quiet check")
def diff(run: GitRun, line: GitLine) -> None:
    repo = run.repo
    revisions, given = run.revisions_and_paths(line)
    view, index = ChangesView(repo, line, Paths(repo, given)), repo.index
    words = [word for name in revisions for word in _two_sides(repo, name)]
    if len(words) > 2:
        raise not_computed("diff of more than two revisions")
    text = ""
    if len(words) < 2:
        for name in conflicts_of(index):
            text += _conflict_text(name, line) if name in view.paths else ""
    if len(words) == 2:
        if any(":" in word for word in words):
            raise not_computed("diff of two files")
        made = view.between(*(repo.tree(word) for word in words))
    elif "cached" in line or "staged" in line:
        old = words[0] if words else "HEAD" if repo.head else None
        made = index.diff_to_tree(repo.tree(old), *view.how)
    else:
        made = index.diff_to_workdir(*view.how)
        if words:
            both = index.diff_to_tree(repo.tree(words[0]), *view.how)
            both.merge(made)
            made = both
    if "check" in line:
        run.out += (found := whitespace_faults(repo, view.patches(made)))
        run.exit_code = 2 * bool(found)
        return
    text += view.text(made)
    if "quiet" not in line:
        run.out.append(text)
    run.exit_code = int(("exit-code" in line or "quiet" in line) and bool(text))


def _conflict_text(name: str, line: GitLine) -> str:
    again = 1 + (line.value("diff-filter") != "U")
    if "name-only" in line:
        return f"{quote_path(name)}\n" * again
    if "name-status" in line:
        return "".join(f"{letter}\t{quote_path(name)}\n" for letter in "UM"[:again])
    if "cached" in line or "staged" in line:
        return f"* Unmerged path {quote_path(name)}\n"
    raise not_computed("diff of files in conflict, which --name-only lists")


def _two_sides(repo: Repository, name: str) -> list[str]:
    if "..." in name:
        ids = [str(repo.commit(side or "HEAD").id) for side in name.split("...", 1)]
        base = repo.merge_base(*ids)
        if base is None:
            raise fatal(f"{name}: no merge base")
        return [base, ids[1]]
    return [side or "HEAD" for side in name.split("..", 1)] if ".." in name else [name]


# Commits

_SHORT = f"{DIFF_SHORT}n:S:i"
_LONG = f"{DIFF_LONG} oneline abbrev-commit first-parent max-count=n format: pretty:: date: decorate:: no-decorate no-notes"
CHOICE_SHORT = "n:S:i"
CHOICE_LONG = (
    "first-parent all branches tags remotes reverse merges no-merges max-parents: author: committer: grep: "
    "skip: regexp-ignore-case=i since: after: until: before:"
)


def walk(
    repo: Repository,
    tips: Iterable[str],
    without: Iterable[str],
    paths: Paths,
    *,
    first: bool = False,
    since: int = 0,
) -> Iterator[pygit2.Commit]:
    """Commits from the tips on, the youngest first; only those that changed the paths, if any are given."""
    hidden: set[str] = set()
    for oid in without:
        hidden.update(str(commit.id) for commit in repo.library.walk(oid))
    heap: list[tuple[int, int, str]] = []
    seen: set[str] = set()

    def add(oid: str) -> None:
        if oid not in seen and oid not in hidden:
            seen.add(oid)
            heappush(heap, (-repo.commit(oid).commit_time, len(seen), oid))

    def touches(commit: pygit2.Commit, parent: str | None) -> bool:
        deltas = (
            repo.tree(parent).diff_to_tree(commit.tree) if parent else commit.tree.diff_to_tree()
        ).deltas
        return any(delta.new_file.path in paths for delta in deltas)

    for tip in tips:
        add(tip)
    while heap:
        commit = repo.commit(heappop(heap)[2])
        if commit.commit_time < since:
            continue
        parents = [str(oid) for oid in commit.parent_ids][: 1 if first else None]
        if paths.given:
            same = next((oid for oid in parents if not touches(commit, oid)), None)
            if same or (not parents and not touches(commit, None)):
                if same:
                    add(same)
                continue
        for oid in parents:
            add(oid)
        yield commit


def _style(repo: Repository, line: GitLine) -> CommitStyle:
    style = CommitStyle(date=line.value("date") or repo.setting("log.date"))
    for name, value in line.options:
        if name == "oneline" or (name in ("format", "pretty") and value == "oneline"):
            style.form, style.short = "oneline", name == "oneline"
        elif name in ("format", "pretty"):
            known = value in ("short", "medium", "full", "fuller")
            if not known and "%" not in value and value != "" and not value.endswith("format:"):
                raise not_computed(f"log --{name}={value}")
            if not known and not value.startswith(("format:", "tformat:")):
                value = f"tformat:{value}" if name == "format" or value else "medium"
            style.form = value
    style.short = style.short or "abbrev-commit" in line
    shown = line.last("decorate", "no-decorate") == "decorate"
    if shown and line.value("decorate") not in ("no", "auto"):
        style.names = names_at(repo)
    return style


def chosen_commits(run: GitRun, line: GitLine) -> tuple[list[pygit2.Commit], list[Paths]]:
    """The commits that revisions, paths and options of `CHOICE_LONG` choose, each with the paths that it is about."""
    repo = run.repo
    revisions, given = run.revisions_and_paths(line)
    ranges = [run.range_of(name) for name in revisions]
    tips = [str(repo.commit(oid).id) for found, _ in ranges for oid in found]
    kinds = {"all": "", "branches": "heads/", "tags": "tags/", "remotes": "remotes/"}
    under = [f"refs/{kind}" for name, kind in kinds.items() if name in line]
    tips += [str(repo.commit(oid).id) for one in under for oid in repo.refs(one).values()]
    if "all" in line and repo.head:
        tips.append(repo.head)
    if not tips and not revisions and not under:
        if run.command != "log":
            raise not_computed(f"{run.command} without a revision")
        if repo.head is None:
            raise fatal(f"your current branch '{repo.branch}' does not have any commits yet")
        tips = [repo.head]
    paths = Paths(repo, given)
    without = [oid for _, hidden in ranges for oid in hidden]
    limit, skip = int(line.value("n") or -1), int(line.value("skip") or 0)
    since, until = (
        repo.moment(line.value(line.last(*names) or "") or "@0")
        for names in (("since", "after"), ("until", "before"))
    )
    follow, about, chosen = "follow" in line, list[Paths](), list[pygit2.Commit]()
    if follow and (len(given) != 1 or skip or "reverse" in line):
        raise not_computed("log --follow of other than one path, or with --skip or --reverse")
    every = Paths(repo, []) if follow else paths
    for commit in walk(repo, tips, without, every, first="first-parent" in line, since=since):
        if len(chosen) == limit + skip and limit >= 0:
            break
        if (until and commit.commit_time > until) or not _passes(repo, commit, line):
            continue
        before = _former_name(repo, commit, paths) if follow else ""
        if before is not None:
            about.append(paths)
            chosen.append(commit)
        if before:
            paths = Paths(repo, [f":/{before}"])
    order = -1 if "reverse" in line else 1
    return chosen[skip:][::order], about[skip:][::order]


@takes(_SHORT, f"{_LONG} {CHOICE_LONG} follow")
def log(run: GitRun, line: GitLine) -> None:
    repo = run.repo
    chosen, about = chosen_commits(run, line)
    style = _style(repo, line)
    views = (ChangesView(repo, line, paths, log=True) for paths in about)
    shown = any(name in (*TABLES, "p", "U") for name, _ in line.options)
    run.out += _paragraphs(
        [
            (commit_text(repo, one, style), _changes(view, one, merges=False) if shown else "")
            for one, view in zip(chosen, views, strict=True)
        ],
        style.form,
    )


def _former_name(repo: Repository, commit: pygit2.Commit, paths: Paths) -> str | None:
    """The name that a file had before a commit; `None` if that did not change it."""
    made = _diff_of(plain_view(repo), commit)
    made.find_similar()
    names = (one.old_file.path for one in made.deltas if one.new_file.path in paths)
    return None if len(commit.parent_ids) > 1 else next(names, None)


def _paragraphs(entries: Sequence[tuple[str, str]], form: str) -> list[str]:
    """Commits and their changes with the lines between them that each form has."""
    out: list[str] = []
    for at, (text, changes) in enumerate(entries):
        if form == "oneline":
            out.append(text + changes)
        elif form.startswith("tformat:"):
            text += "\n" * bool(text or form != "tformat:")
            out.append(text + (("\n" * bool(text) + changes) if changes else ""))
        else:
            # A merge that changed nothing itself leaves the line before its changes.
            out.append(
                "\n" * bool(at)
                + text
                + ("\n" * (changes[:4] != "---\n") + changes.lstrip("\0") if changes else "")
            )
    return out


def _passes(repo: Repository, commit: pygit2.Commit, line: GitLine) -> bool:
    flags = re.MULTILINE | (re.IGNORECASE if "i" in line else re.NOFLAG)
    people = {"author": commit.author, "committer": commit.committer}
    texts = {key: f"{who.name} <{who.email}>" for key, who in people.items()}
    for key, text in [*texts.items(), ("grep", message_of(commit))]:
        patterns = line.values(key)
        if patterns and not any(re.search(pattern, text, flags) for pattern in patterns):
            return False
    merge = len(commit.parent_ids) > 1
    if (merge and "no-merges" in line) or (not merge and "merges" in line):
        return False
    if len(commit.parent_ids) > int(line.value("max-parents") or len(commit.parent_ids)):
        return False
    return all(_makes_or_takes(repo, commit, text) for text in line.values("S"))


def _makes_or_takes(repo: Repository, commit: pygit2.Commit, text: str) -> bool:
    """Whether a file has a text more or fewer times than before the commit."""
    for patch in _diff_of(plain_view(repo), commit):
        count = 0
        for hunk in patch.hunks if patch else ():
            for one in hunk.lines:
                sign = {"+": 1, "-": -1}.get(one.origin, 0)
                count += sign * one.raw_content.count(bytes_of(text))
        if count:
            return True
    return False


def _diff_of(view: ChangesView, commit: pygit2.Commit) -> pygit2.Diff:
    parents = commit.parent_ids
    return view.between(view.repo.tree(str(parents[0]) if parents else None), commit.tree)


def _changes(view: ChangesView, commit: pygit2.Commit, *, merges: bool) -> str:
    if len(commit.parent_ids) < 2 or "first-parent" in view.line:
        return view.text(_diff_of(view, commit))
    if not merges:
        return ""
    if any(name in view.line for name in TABLES):
        return view.text(_diff_of(view, commit))
    trees = [view.repo.tree(str(parent)) for parent in commit.parent_ids]
    changed = [
        {one.new_file.path for one in tree.diff_to_tree(commit.tree).deltas} for tree in trees
    ]
    if "s" not in view.line and set[str].intersection(*changed):
        raise not_computed("show of a merge that changed a file itself")
    return "\0"


@takes(_SHORT, _LONG)
def show(run: GitRun, line: GitLine) -> None:
    repo = run.repo
    revisions, given = run.revisions_and_paths(line)
    if repo.head is None and not revisions:
        raise fatal(f"your current branch '{repo.branch}' does not have any commits yet")
    style, view = _style(repo, line), ChangesView(repo, line, Paths(repo, given), log=True)
    commits: list[pygit2.Commit] = []
    for name in revisions or ["HEAD"]:
        if ".." in name:
            raise not_computed("show of a range")
        found = repo.get(repo.resolve(name))
        if isinstance(found, pygit2.Tag):
            who = found.tagger
            run.say(f"tag {found.name}\nTagger: {who.name} <{who.email}>")
            plain = ":" not in style.form
            date = f"Date:   {date_text(who, style.date)}\n" * plain
            run.out.append(f"{date}\n{found.message}" + "\n" * plain)
            found = repo.commit(name)
        if isinstance(found, pygit2.Commit):
            commits.append(found)
        elif isinstance(found, pygit2.Tree):
            names = (f"{one.name}{'/' * (one.type_str == 'tree')}\n" for one in found)
            run.say(f"tree {name}\n\n{''.join(names)[:-1]}")
        else:
            run.out.append(text_of(found.read_raw()))
    pieces = [(commit_text(repo, one, style), _changes(view, one, merges=True)) for one in commits]
    run.out += _paragraphs(pieces, style.form)


@takes("n:", "max-count=n")
def reflog(run: GitRun, line: GitLine) -> None:
    repo, name = run.repo, line.operands[0] if line.operands else "HEAD"
    if not (full := repo.full_ref(name)):
        raise not_computed(f"reflog {name}")
    for at, (_, new, said) in enumerate(repo.log_of(full)[: int(line.value("n") or 0) or None]):
        run.say(f"{repo.short(new)} {name}@{{{at}}}: {said}")
