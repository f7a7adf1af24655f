"""The commands of git that choose and name branches: `checkout`, `switch`, `branch`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell.git.git_failure import error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_status import (
    Status,
    ahead_behind,
    place_without_branch,
    short_ref,
    tracking,
)
from agentworld_sim.engines.shell.git.git_texts import (
    many,
    message_of,
    quote_path,
    subject_of,
)
from agentworld_sim.engines.shell.git.git_work_tree import force_work, restore_paths, update_work
from agentworld_sim.engines.shell.git.repository import Repository, conflicts_of, is_ref_name

_DETACHED = """Note: switching to '{}'.

You are in 'detached HEAD' state. You can look around, make experimental
changes and commit them, and you can discard any commits you make in this
state without impacting any branches by switching back to a branch.

If you want to create a new branch to retain commits you create, you may
do so (now or later) by using -c with the switch command. Example:

  git switch -c <new-branch-name>

Or undo this operation with:

  git switch -

Turn off this advice by setting config variable advice.detachedHead to false

"""


@takes("b:B:qf", "quiet=q force=f detach ours theirs")
def checkout(run: GitRun, line: GitLine) -> None:
    repo, words, rest = run.tree, list(line.operands), line.rest
    new = line.value("b") or line.value("B")
    if new is None:
        first = words[0] if words else ""
        is_revision = bool(first) and repo.find("@{-1}" if first == "-" else first) is not None
        is_path = bool(words) and not is_revision and not _remote_branch(repo, first)
        if rest is not None or is_path or len(words) > 1:
            if not is_revision and rest is not None and words:
                raise fatal(f"invalid reference: {first}")
            paths = Paths(repo, [*(words[1:] if is_revision else words), *(rest or ())])
            count, place = _checkout_paths(run, line, paths, first if is_revision else None)
            if rest is None and "q" not in line:
                run.complain(f"Updated {many(count, 'path')} from {place}")
            return
    name = words[0] if words else None
    switch_to(run, line, name, new, reset="B" in line, detach="detach" in line)


@takes("c:C:qfd", "create=c force-create=C quiet=q force=f discard-changes=f detach=d")
def switch(run: GitRun, line: GitLine) -> None:
    repo, words, new = run.tree, line.words, line.value("c") or line.value("C")
    if not words and not new:
        raise fatal("missing branch or commit argument")
    name = words[0] if words else None
    known = not name or name == "-" or repo.ref(f"refs/heads/{name}") or _remote_branch(repo, name)
    if name and not (known or new or "d" in line):
        if repo.find(name):
            raise not_computed("switch to what is no branch")
        raise fatal(f"invalid reference: {name}")
    switch_to(run, line, name, new, reset="C" in line, detach="d" in line)


def _remote_branch(repo: Repository, name: str) -> str | None:
    """The only remote-tracking ref of that name, where there is no branch of it yet."""
    found = [full for full in repo.refs("refs/remotes/") if full.split("/", 3)[3] == name]
    return found[0] if len(found) == 1 and not repo.ref(f"refs/heads/{name}") else None


def _checkout_paths(
    run: GitRun, line: GitLine, paths: Paths, source: str | None
) -> tuple[int, str]:
    """Takes files from a revision or the index; how many, and from where."""
    repo = run.repo
    if side := line.last("ours", "theirs"):
        for name, sides in conflicts_of(repo.library.index).items():
            entry = sides[1 if side == "ours" else 2]
            if entry and name in paths:
                (repo.folder / name).write_bytes(repo.get(str(entry.id)).read_raw())
                repo.written = True
        return len(paths.given), "the index"
    tree = repo.tree(source) if source else None
    changed = restore_paths(repo, paths, tree, index=bool(source), work=True, keep=True)
    return len(changed), repo.short(str(tree.id)) if tree else "the index"


_FILTERS = ("contains", "merged", "no-merged")


def _branch_name(name: str) -> str:
    if name in ("@", "HEAD") or not is_ref_name(name):
        raise fatal(f"'{name}' is not a valid branch name")
    return name


def switch_to(
    run: GitRun, line: GitLine, name: str | None, new: str | None, *, reset: bool, detach: bool
) -> None:
    """Checks out a branch, a commit, or a new branch."""
    repo, before, force = run.repo, run.repo.branch, "f" in line
    if name == "-":
        moves = [said for *_, said in repo.log_of("HEAD") if said.startswith("checkout: moving ")]
        name = moves[0].split(" ")[3] if moves else "@{-1}"
    shown = name or (before if not detach else None) or "HEAD"
    if new is not None:
        _branch_name(new)
        if repo.ref(f"refs/heads/{new}") and not reset:
            raise fatal(f"a branch named '{new}' already exists")
    remote = _remote_branch(repo, name) if name and not new and not repo.find(name) else None
    if name and not remote and not repo.find(name):
        if new:
            raise fatal(f"'{name}' is not a commit and a branch '{new}' cannot be created from it")
        raise error(f"pathspec '{name}' did not match any file(s) known to git")
    if (names := Status(repo, Paths(repo, []), "no").conflicts) and not force:
        run.out += [f"{one}: needs merge\n" for one in names]
        raise error("you need to resolve your current index first")
    if "q" not in line and (repo.text("CHERRY_PICK_HEAD") or repo.text("REVERT_HEAD")):
        raise not_computed("checkout that ends a cherry-pick or a revert")
    old = repo.head
    if old is None and name is None and new:
        repo.set_head(new, None, "")
        run.complain(f"Switched to a new branch '{new}'")
        return
    target = repo.commit(remote or name)
    oid = str(target.id)
    if force:
        force_work(repo, target.tree)
    elif oid != old:
        update_work(repo, target.tree, "checkout", "switch branches")
    branch = new or (name if remote else None)
    if branch is None and name and not detach and repo.ref(f"refs/heads/{name}"):
        branch = name
    elif branch is None and name is None and not detach:
        branch = before
    existed = repo.ref(f"refs/heads/{branch}")
    if new and existed and repo.upstream(new):
        raise not_computed("checkout -B of a branch that follows another")
    if new or remote:
        said = f"branch: {'Reset to' if existed else 'Created from'} {name or 'HEAD'}"
        repo.set_ref(f"refs/heads/{branch}", oid, said)
    leaving = old if before is None and old != oid else None
    repo.set_head(branch, oid, f"checkout: moving from {before or old} to {branch or shown}")
    repo.conclude()
    upstream = _follow(run, branch, remote or name) if new or remote else ""
    if "q" in line:
        return
    now = Status(repo, Paths(repo, []), "no")
    # A new branch where one stands changes no files, and git does not look at them.
    if not (force or (new and name is None)):
        rows = {path: letter for letter, path, _ in [*now.staged, *now.unstaged]}
        for path, letter in sorted(rows.items()):
            run.say(f"{letter.replace('R', 'A')}\t{quote_path(path)}")
    if leaving:
        _tell_what_is_left(run, leaving)
    if name is None and new is None and not detach:
        run.out.append(tracking(repo))
    elif branch is None:
        if before is not None and repo.setting("advice.detachedhead") != "false" and not detach:
            run.err.append(_DETACHED.format(shown))
        run.complain(f"HEAD is now at {repo.short(oid)} {subject_of(message_of(target))}")
    elif new or remote:
        verb = "Switched to and reset branch" if existed else "Switched to a new branch"
        run.complain(f"{'Reset branch' if branch == before else verb} '{branch}'")
        run.out.append(upstream)
    else:
        run.complain(f"{'Already on' if branch == before else 'Switched to branch'} '{branch}'")
        run.out.append(tracking(repo))


def _follow(run: GitRun, branch: str | None, name: str | None) -> str:
    """Lets a new branch follow the remote one from which it starts; what git says of that."""
    full = (run.repo.full_ref(name) if name else None) or ""
    remote, _, there = full.removeprefix("refs/remotes/").partition("/")
    if not full.startswith("refs/remotes/") or not run.setting(f"remote.{remote}.url"):
        return ""
    run.set_config(f"branch.{branch}.remote", remote)
    run.set_config(f"branch.{branch}.merge", f"refs/heads/{there}")
    return f"branch '{branch}' set up to track '{remote}/{there}'.\n"


def _tell_what_is_left(run: GitRun, oid: str) -> None:
    """Says which commit was checked out."""
    repo = run.repo
    walker = repo.library.walk(oid)
    for tip in [*repo.refs("refs/").values(), repo.head]:
        walker.hide(str(repo.commit(tip).id))
    if next(walker, None) is not None:
        raise not_computed("checkout that leaves commits without a branch")
    subject = subject_of(message_of(repo.commit(oid)))
    run.complain(f"Previous HEAD position was {repo.short(oid)} {subject}")


@takes(
    "arvdDmMflq",
    "all=a remotes=r verbose=v delete=d move=m force=f list=l show-current no-color quiet=q "
    "contains:: merged:: no-merged::",
)
def branch(run: GitRun, line: GitLine) -> None:
    repo, words = run.repo, line.words
    if "show-current" in line:
        run.out += [f"{repo.branch}\n"] * bool(repo.branch)
    elif "d" in line or "D" in line:
        _delete_branches(run, line, words)
    elif ("m" in line or "M" in line) and words:
        _rename_branch(
            repo, (words if len(words) > 1 else [repo.branch or "HEAD"])[0], words[-1], "M" in line
        )
    elif words and not line.last("l", *_FILTERS):
        name, start = _branch_name(words[0]), words[1] if len(words) > 1 else "HEAD"
        if repo.ref(f"refs/heads/{name}") and "f" not in line:
            raise fatal(f"a branch named '{name}' already exists")
        said = start if len(words) > 1 else repo.branch or "HEAD"
        if not repo.find(start):
            raise fatal(f"not a valid object name: '{said}'")
        oid = str(repo.commit(start).id)
        repo.set_ref(f"refs/heads/{name}", oid, f"branch: Created from {said}")
        run.out.append(_follow(run, name, start))
    else:
        _list_branches(run, line, words)


def _rename_branch(repo: Repository, old: str, new: str, force: bool) -> None:
    oid = repo.ref(f"refs/heads/{old}")
    if not oid and not (old == repo.branch and repo.head is None):
        raise fatal(f"No branch named '{old}'.")
    if repo.ref(f"refs/heads/{_branch_name(new)}") and not force and new != old:
        raise fatal(f"a branch named '{new}' already exists")
    current, log = repo.branch == old, repo.text(f"logs/refs/heads/{old}")
    said = f"Branch: renamed refs/heads/{old} to refs/heads/{new}"
    if oid and new != old:
        repo.drop_ref(f"refs/heads/{old}")
        repo.put(f"logs/refs/heads/{new}", log or "")
        repo.put(f"refs/heads/{new}", f"{oid}\n")
        repo.set_ref(f"refs/heads/{new}", oid, said)
    if current:
        repo.set_head(new, oid, said)


def _delete_branches(run: GitRun, line: GitLine, names: Sequence[str]) -> None:
    repo, remote = run.repo, "r" in line
    under, force = "refs/remotes/" if remote else "refs/heads/", "D" in line or "f" in line
    if not names:
        raise fatal("branch name required")
    for name in names:
        oid, why = repo.ref(under + name), ""
        tips = [one for one in (repo.head, repo.ref(repo.upstream(name) or "")) if one]
        if name == repo.branch and not remote:
            why = f"Cannot delete branch '{name}' checked out at '{repo.top}'"
        elif not oid:
            why = f"branch '{name}' not found."
        elif not force and not all(repo.is_ancestor(oid, tip) for tip in tips):
            if len(tips) > 1:
                raise not_computed("branch -d that is merged to one of HEAD and its upstream")
            why = f"The branch '{name}' is not fully merged.\nIf you are sure you want to delete it, run 'git branch -D {name}'."
        if why or not oid:
            run.fail(f"error: {why}\n", 1)
            continue
        repo.drop_ref(under + name)
        run.say(f"Deleted {'remote-tracking ' * remote}branch {name} (was {repo.short(oid)}).")


def _list_branches(run: GitRun, line: GitLine, patterns: Sequence[str]) -> None:
    repo = run.repo
    found: list[tuple[str, str, str]] = []
    if repo.branch is None and repo.head and "r" not in line:
        found.append(("*", f"({place_without_branch(repo)})", repo.head))
    if "r" not in line:
        for full, oid in repo.refs("refs/heads/").items():
            name = full.removeprefix("refs/heads/")
            found.append(("*" if name == repo.branch else " ", name, oid))
    if "r" in line or "a" in line:
        for full, oid in repo.refs("refs/remotes/").items():
            found.append((" ", full.removeprefix("refs/" if "a" in line else "refs/remotes/"), oid))
    if option := line.last(*_FILTERS):
        given = line.value(option) or "".join(patterns[:1]) or "HEAD"
        patterns = patterns[not line.value(option) :]
        if not repo.find(given):
            raise error(f"malformed object name {given}", 129)
        commit = str(repo.commit(given).id)

        def fits(tip: str) -> bool:
            pair = (commit, tip) if option == "contains" else (tip, commit)
            return repo.is_ancestor(*pair) != (option == "no-merged")

        found = [row for row in found if fits(row[2])]
    width = max((len(name) for _, name, _ in found), default=0)
    for star, name, oid in found:
        if patterns and not any(fnmatchcase(name, one) for one in patterns):
            continue
        if "v" in line:
            upstream = repo.upstream(name) if repo.ref(f"refs/heads/{name}") else None
            state = ahead_behind(repo, upstream, oid) if upstream else ""
            if upstream and len(line.values("v")) > 1:
                state = f" [{short_ref(upstream)}{': ' * bool(state)}{state[2:-1]}]"
            subject = subject_of(message_of(repo.commit(oid)))
            run.say(f"{star} {name:<{width}} {repo.short(oid)}{state} {subject}")
        else:
            link = (repo.text(f"refs/{name}") or "").partition("ref: refs/remotes/")[2].strip()
            run.say(f"{star} {name}{f' -> {link}' if link else ''}")
