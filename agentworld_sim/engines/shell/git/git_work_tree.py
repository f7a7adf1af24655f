"""The work tree brought to what a commit or the index holds: `restore` and `reset`."""

from __future__ import annotations

from contextlib import suppress

import pygit2
from pygit2.enums import CheckoutNotify, CheckoutStrategy, FileMode

from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, unknown_paths
from agentworld_sim.engines.shell.git.git_index import prune, save_index
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_status import Status
from agentworld_sim.engines.shell.git.git_texts import message_of, quote_path, subject_of
from agentworld_sim.engines.shell.git.repository import (
    Repository,
    conflicts_of,
    drop_conflict,
    entries,
)


class _Conflicts(pygit2.CheckoutCallbacks):
    """Notes which files a checkout would overwrite."""

    def __init__(self) -> None:
        super().__init__()
        self.local: list[str] = []
        self.untracked: list[str] = []

    def checkout_notify_flags(self) -> CheckoutNotify:
        return CheckoutNotify.CONFLICT

    def checkout_notify(
        self, why: CheckoutNotify, path: str, baseline: object, target: object, workdir: object
    ) -> None:
        (self.local if baseline else self.untracked).append(path)


def update_work(repo: Repository, tree: pygit2.Tree, verb: str, to: str) -> None:
    """Brings index and work tree from HEAD's files to those of a tree; other local changes are kept.

    Args:
        verb: What is being done, and `to` what the user wants, for the refusal.

    Raises:
        GitFailure: local changes or untracked files would be lost.
    """
    repo.written = True
    lost = _Conflicts()
    try:
        how = CheckoutStrategy.RECREATE_MISSING
        repo.library.checkout_tree(tree, strategy=how, callbacks=lost)  # pyright: ignore[reportUnknownMemberType]
    except pygit2.GitError:
        said = ""
        rows = (
            (lost.local, "Your local changes to the following", "commit your changes or stash"),
            (lost.untracked, "The following untracked working tree", "move or remove"),
        )
        for names, what, advice in rows:
            if names:
                listed = "".join(f"\t{name}\n" for name in sorted(names))
                said += f"error: {what} files would be overwritten by {verb}:\n{listed}"
                said += f"Please {advice} them before you {to}.\n"
        raise GitFailure(said + "Aborting\n", 1) from None


def force_work(repo: Repository, tree: pygit2.Tree) -> None:
    """Brings index and work tree to a tree; local changes are lost, untracked files are kept."""
    library = repo.library
    known = {name for name, _ in entries(library.index)}
    library.checkout_tree(tree, strategy=CheckoutStrategy.FORCE)  # pyright: ignore[reportUnknownMemberType]
    library.index.read_tree(tree)
    wanted = {name for name, _ in entries(library.index)}
    for name in known - wanted:
        with suppress(OSError):
            (repo.folder / name).unlink(missing_ok=True)
        prune(repo, name)
    save_index(repo)
    repo.conclude()


def restore_paths(
    repo: Repository,
    paths: Paths,
    tree: pygit2.Tree | None,
    *,
    index: bool,
    work: bool,
    keep: bool = False,
) -> list[str]:
    """Takes files from a tree, or without one from the index; those that are not there go, or are kept.

    Raises:
        GitFailure: a path is not known there.
    """
    source = known = repo.library.index
    if tree is not None:
        source = pygit2.Index()
        source.read_tree(tree)
    conflicts = conflicts_of(known)
    names = [name for name, _ in entries(source) if name in paths]
    there = [] if keep else [name for name, _ in entries(known)]
    gone = [name for name in there if name in paths and name not in source]
    if paths.unused:
        raise unknown_paths(paths.unused)
    changed: list[str] = []
    for name in dict.fromkeys(names):
        if tree is None and name in conflicts:
            raise error(f"path '{name}' is unmerged")
        entry, path = source[name], repo.folder / name
        data = repo.get(str(entry.id)).read_raw()
        mode = 0o755 if entry.mode == FileMode.BLOB_EXECUTABLE else 0o644
        same = path.is_file() and path.read_bytes() == data
        if work and not (same and (path.stat().st_mode ^ mode) & 0o100 == 0):
            changed.append(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)
        if index and (name not in known or known[name].id != entry.id or name in conflicts):
            drop_conflict(known, name)
            known.add(pygit2.IndexEntry(name, entry.id, entry.mode))
            changed += [] if work else [name]
    for name in gone:
        if index:
            known.remove(name)
        if work:
            (repo.folder / name).unlink(missing_ok=True)
            prune(repo, name)
    save_index(repo)
    return changed


@takes("s:SWq", "source=s staged=S worktree=W quiet=q")
def restore(run: GitRun, line: GitLine) -> None:
    repo, staged = run.tree, "S" in line
    if not line.words:
        raise fatal("you must specify path(s) to restore")
    source = line.value("s") or ("HEAD" if staged else None)
    if source and not repo.find(source) and not (source == "HEAD" and not repo.head):
        raise fatal(f"could not resolve {source}")
    tree = repo.tree(source if repo.find(source) else None) if source else None
    restore_paths(repo, Paths(repo, line.words), tree, index=staged, work="W" in line or not staged)


@takes("fdnxXq", "force=f dry-run=n quiet=q")
def clean(run: GitRun, line: GitLine) -> None:
    repo, options = run.tree, {name for name, _ in line.options}
    if not {"n", "f"} & options:
        what = "defaults to true and neither -i, -n, nor -f given"
        raise fatal(f"clean.requireForce {what}; refusing to clean")
    known = {name for name, _ in entries(repo.library.index)}
    folders = {name[: at + 1] for name in known for at, letter in enumerate(name) if letter == "/"}
    paths, now = Paths(repo, line.words or ["."]), Status(repo, Paths(repo, []), "no")

    def below(folder: str) -> tuple[list[str], bool]:
        """What is to go from a folder, and whether that is all that it holds."""
        names, everything = list[str](), True
        for one in sorted(
            (repo.folder / folder).iterdir(), key=lambda path: path.name + "/" * path.is_dir()
        ):
            name = folder + one.name + "/" * one.is_dir()
            ignored, found = repo.library.path_is_ignored(name), list[str]()
            nested = one.is_dir() and repo.files.exists(f"{repo.top.rstrip('/')}/{name}.git")
            if name in known or name == ".git/" or nested or (ignored and not {"x", "X"} & options):
                stays = True
            elif one.is_dir():
                found, whole = below(name)
                stays = name in folders or not whole or "d" not in options
                found = found if name in folders or "d" in options else []
            else:
                stays = ("X" in options and not ignored) or name not in paths
            names += found if stays else [name]
            everything = everything and not stays
        return names, everything

    for name in below("")[0]:
        if "n" in line or "q" not in line:
            verb = "Would remove" if "n" in line else "Removing"
            run.say(f"{verb} {quote_path(now.relative(name))}")
        if "n" not in line:
            repo.written = True
            repo.copy.remove(name.rstrip("/"))


@takes("q", "soft mixed hard quiet=q")
def reset(run: GitRun, line: GitLine) -> None:
    repo = run.tree
    revisions, given = list(line.operands[:1]), [*line.operands[1:], *(line.rest or ())]
    if not revisions or not repo.find(revisions[0]):
        revisions, given = run.revisions_and_paths(line)
    how = line.last("soft", "mixed", "hard") or "mixed"
    name = revisions[0] if revisions else "HEAD"
    if given:
        if how != "mixed":
            raise fatal(f"Cannot do {how} reset with paths.")
        tree = repo.tree(name if repo.head else None)
        with suppress(GitFailure):
            restore_paths(repo, Paths(repo, given), tree, index=True, work=False)
    else:
        target = repo.commit(name) if repo.head or revisions else None
        tree = target.tree if target else repo.tree(None)
        if how == "hard":
            force_work(repo, tree)
        elif how == "mixed":
            repo.library.index.read_tree(tree)
            save_index(repo)
        if target:
            oid = str(target.id)
            repo.put("ORIG_HEAD", f"{repo.head}\n")
            repo.set_ref("HEAD", oid, f"reset: moving to {name}")
            if how == "hard" and "q" not in line:
                run.say(f"HEAD is now at {repo.short(oid)} {subject_of(message_of(target))}")
        if how != "soft":
            repo.conclude()
    if how == "mixed" and "q" not in line:
        now = Status(repo, Paths(repo, []), "no")
        rows = [(letter, name) for letter, name, _ in now.unstaged]
        rows += [("U", name) for name in now.conflicts]
        if rows:
            run.say("Unstaged changes after reset:")
            run.out += [f"{letter}\t{quote_path(name)}\n" for letter, name in rows]
