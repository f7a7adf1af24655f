"""`git status`, in its long and short forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import relpath

from pygit2.enums import FileStatus

from agentworld_sim.engines.shell.git.git_failure import not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_texts import many, quote_path
from agentworld_sim.engines.shell.git.repository import Repository, bytes_of, conflicts_of

_SIDES = {
    (0, 1, 1): ("AA", "both added:"),
    (1, 1, 1): ("UU", "both modified:"),
    (1, 0, 0): ("DD", "both deleted:"),
    (1, 0, 1): ("DU", "deleted by us:"),
    (1, 1, 0): ("UD", "deleted by them:"),
    (0, 1, 0): ("AU", "added by us:"),
    (0, 0, 1): ("UA", "added by them:"),
}
_WORDS = {"A": "new file:", "D": "deleted:", "M": "modified:", "R": "renamed:", "T": "typechange:"}
_STAGED = {
    "A": FileStatus.INDEX_NEW,
    "M": FileStatus.INDEX_MODIFIED,
    "D": FileStatus.INDEX_DELETED,
    "T": FileStatus.INDEX_TYPECHANGE,
}
_IN_WORK = {"M": FileStatus.WT_MODIFIED, "D": FileStatus.WT_DELETED, "T": FileStatus.WT_TYPECHANGE}
_UNDER_WAY = ("sequencer", "BISECT_LOG", "rebase-merge", "rebase-apply")
_UNSTAGE = 'use "git restore --staged <file>..." to unstage'

Row = tuple[str, str, str]
"""Letter, path, and where it was before."""


@takes("sbu::", "short=s branch=b porcelain:: long untracked-files=u ignored")
def status(run: GitRun, line: GitLine) -> None:
    repo, given = run.tree, line.value("u")
    if line.value("porcelain") not in (None, "", "v1", "1"):
        raise not_computed("status --porcelain=v2")
    for name in _UNDER_WAY:
        if repo.files.exists(f"{repo.git_dir}/{name}"):
            raise not_computed(f"status with .git/{name}")
    shown = repo.setting("status.showuntrackedfiles", "normal") if given is None else given or "all"
    found = Status(repo, Paths(repo, line.words), shown, ignored="ignored" in line)
    if "s" in line or "porcelain" in line:
        run.out.append(found.short(branch="b" in line, relative="porcelain" not in line))
    else:
        run.out.append(found.long())


class Status:
    """What status tells of some paths; `shown` says which untracked files: `no`, `normal` or `all`."""

    def __init__(
        self, repo: Repository, paths: Paths, shown: str = "normal", *, ignored: bool = False
    ) -> None:
        self.repo, self.shown = repo, shown
        index = repo.index
        self.conflicts = {
            name: _SIDES[bool(base), bool(ours), bool(theirs)]
            for name, (base, ours, theirs) in sorted(conflicts_of(index).items())
            if name in paths
        }
        flags = repo.library.status(shown, ignored)
        names = sorted(flags, key=bytes_of)

        def rows(letters: Mapping[str, FileStatus]) -> list[Row]:
            wanted = [name for name in names if name in paths and name not in self.conflicts]
            return [
                (letter, name, name)
                for name in wanted
                for letter, bit in letters.items()
                if flags[name] & bit
            ]

        self.staged, self.unstaged = rows(_STAGED), rows(_IN_WORK)
        if {"A", "D"} <= {letter for letter, *_ in self.staged}:
            made = index.diff_to_tree(repo.tree("HEAD"))
            made.find_similar()
            deltas = [delta for delta in made.deltas if delta.status_char() == "R"]
            moved = {one.new_file.path: one.old_file.path for one in deltas}
            self.staged = [
                ("R", name, moved[name]) if name in moved else (letter, name, old)
                for letter, name, old in self.staged
                if name not in moved.values()
            ]
        found = [name for name in names if name.rstrip("/") in paths]
        self.untracked = [name for name in found if flags[name] & FileStatus.WT_NEW]
        # libgit2 takes empty folders for ignored ones.
        self.ignored = [
            name
            for name in found
            if flags[name] & FileStatus.IGNORED
            and (name[-1] != "/" or any(one.is_file() for one in (repo.folder / name).rglob("*")))
        ]

    def relative(self, name: str) -> str:
        """A path as seen from where git runs."""
        if not self.repo.prefix:
            return name
        return relpath(name, self.repo.prefix) + "/" * name.endswith("/")

    def short(self, *, branch: bool, relative: bool) -> str:
        repo = self.repo

        def display(name: str) -> str:
            return quote_path(self.relative(name) if relative else name, blanks=True)

        letters = {name: [*both] for name, (both, _) in self.conflicts.items()}
        letters |= {name: [letter, " "] for letter, name, _ in self.staged}
        for letter, name, _ in self.unstaged:
            letters.setdefault(name, [" ", " "])[1] = letter
        old = {name: before for letter, name, before in self.staged if letter == "R"}
        lines: list[str] = []
        for name, (x, y) in sorted(letters.items()):
            before = f"{display(old[name])} -> " if name in old else ""
            lines.append(f"{x}{y} {before}{display(name)}\n")
        lines += [f"?? {display(name)}\n" for name in self.untracked]
        lines += [f"!! {display(name)}\n" for name in self.ignored]
        if branch:
            text = repo.branch or "HEAD (no branch)"
            if repo.head is None:
                text = f"No commits yet on {text}"
            elif upstream := repo.upstream(repo.branch):
                text += f"...{short_ref(upstream)}{ahead_behind(repo, upstream)}"
            lines.insert(0, f"## {text}\n")
        return "".join(lines)

    def long(self) -> str:
        repo = self.repo
        if repo.branch:
            out = f"On branch {repo.branch}\n" + (f"{said}\n" if (said := tracking(repo)) else "")
        else:
            out = place_without_branch(repo) + "\n"
        out += "\nNo commits yet\n\n" if repo.head is None else ""
        merging = repo.text("MERGE_HEAD") is not None
        if merging and self.repo.library.index.conflicts:
            out += 'You have unmerged paths.\n  (fix conflicts and run "git commit")\n'
            out += '  (use "git merge --abort" to abort the merge)\n\n'
        elif merging:
            out += 'All conflicts fixed but you are still merging.\n  (use "git commit" to conclude merge)\n\n'
        else:
            out += self._picking()
        unstage = [_UNSTAGE if repo.head else 'use "git rm --cached <file>..." to unstage']
        unstage = [] if merging or repo.text("CHERRY_PICK_HEAD") else unstage
        out += self._section("Changes to be committed:", unstage, self.staged)
        if self.conflicts:
            gone = any("deleted" in words for _, words in self.conflicts.values())
            hint = f'use "git add{"/rm" * gone} <file>..." {"as appropriate " * gone}to mark resolution'
            rows = [(f"{words:<17}", name, name) for name, (_, words) in self.conflicts.items()]
            out += self._section("Unmerged paths:", [*unstage, hint], rows)
        removed = "/rm" * any(letter == "D" for letter, *_ in self.unstaged)
        hint = f'use "git add{removed} <file>..." to update what will be committed'
        discard = 'use "git restore <file>..." to discard changes in working directory'
        out += self._section("Changes not staged for commit:", [hint, discard], self.unstaged)
        for title, option, names in (
            ("Untracked", "", self.untracked),
            ("Ignored", "-f ", self.ignored),
        ):
            hint = f'use "git add {option}<file>..." to include in what will be committed'
            out += self._section(f"{title} files:", [hint], [("", name, name) for name in names])
        if self.shown == "no" and self.staged:
            out += "Untracked files not listed (use -u option to show untracked files)\n"
        return out + self._end(merging)

    def _picking(self) -> str:
        """What is told of a cherry-pick or a revert that stopped; empty without one."""
        for head, command, what in (
            ("CHERRY_PICK_HEAD", "cherry-pick", "cherry-picking"),
            ("REVERT_HEAD", "revert", "reverting"),
        ):
            if oid := self.repo.text(head):
                state = "fix conflicts and" if self.conflicts else "all conflicts fixed:"
                return (
                    f"You are currently {what} commit {self.repo.short(oid.strip())}.\n"
                    f'  ({state} run "git {command} --continue")\n'
                    f'  (use "git {command} --skip" to skip this patch)\n'
                    f'  (use "git {command} --abort" to cancel the {command} operation)\n\n'
                )
        return ""

    def _end(self, merging: bool) -> str:
        if self.staged or (merging and not self.conflicts):
            return ""
        if self.unstaged or self.conflicts:
            return 'no changes added to commit (use "git add" and/or "git commit -a")\n'
        if self.untracked:
            return 'nothing added to commit but untracked files present (use "git add" to track)\n'
        if self.repo.head is None:
            return 'nothing to commit (create/copy files and use "git add" to track)\n'
        if self.shown == "no":
            return "nothing to commit (use -u to show untracked files)\n"
        return "nothing to commit, working tree clean\n"

    def _section(self, title: str, hints: Sequence[str], rows: Sequence[Row]) -> str:
        lines = [title, *(f"  ({hint})" for hint in hints)]
        for letter, name, old in rows:
            names = [quote_path(self.relative(one)) for one in dict.fromkeys((old, name))]
            word = f"{_WORDS[letter]:<12}" if letter in _WORDS else letter
            lines.append(f"\t{word}{' -> '.join(names)}")
        return "\n".join(lines) + "\n\n" if rows else ""


def short_ref(name: str) -> str:
    return name.removeprefix("refs/").partition("/")[2]


def place_without_branch(repo: Repository) -> str:
    """What is checked out without a branch."""
    for _, new, said in repo.log_of("HEAD"):
        if said.startswith("checkout: moving "):
            full = repo.full_ref(name := said.rpartition(" ")[2])
            shown = name if full and "/heads/" not in full else repo.short(new)
            return f"HEAD detached {'at' if new == repo.head else 'from'} {shown}"
    return "Not currently on any branch."


def _counts(repo: Repository, upstream: str, tip: str | None) -> tuple[int, int] | None:
    oid = repo.ref(upstream)
    return repo.library.ahead_behind(tip, oid) if oid and tip else None  # pyright: ignore[reportArgumentType]


def ahead_behind(repo: Repository, upstream: str, tip: str | None = None) -> str:
    """`[ahead 1, behind 2]` with a blank before it, of a commit or HEAD; empty when even."""
    counts = _counts(repo, upstream, tip or repo.head)
    if counts is None:
        return " [gone]"
    parts = [
        f"{word} {count}" for word, count in zip(("ahead", "behind"), counts, strict=True) if count
    ]
    return f" [{', '.join(parts)}]" if parts else ""


def tracking(repo: Repository) -> str:
    """How the branch stands to what it follows; empty if it follows nothing."""
    upstream = repo.upstream(repo.branch)
    if not upstream or not repo.head:
        return ""
    name, counts = short_ref(upstream), _counts(repo, upstream, repo.head)
    if counts is None:
        raise not_computed("status of a branch whose upstream is gone")
    ahead, behind = counts
    if ahead and behind:
        return (
            f"Your branch and '{name}' have diverged,\nand have {ahead} and {behind} different commits each, "
            'respectively.\n  (use "git pull" to merge the remote branch into yours)\n'
        )
    if behind:
        return f"Your branch is behind '{name}' by {many(behind, 'commit')}, and can be fast-forwarded.\n  (use \"git pull\" to update your local branch)\n"
    if ahead:
        return f"Your branch is ahead of '{name}' by {many(ahead, 'commit')}.\n  (use \"git push\" to publish your local commits)\n"
    return f"Your branch is up to date with '{name}'.\n"
