"""The commands of git that make a commit again elsewhere, or its opposite: `cherry-pick`, `revert`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentworld_sim.engines.shell.git.git_commit import EMPTY_PICK, NOT_RESOLVED, commit, report
from agentworld_sim.engines.shell.git.git_failure import GitFailure, fatal, not_computed
from agentworld_sim.engines.shell.git.git_merge import conflict_list, join
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_show import walk
from agentworld_sim.engines.shell.git.git_status import Status
from agentworld_sim.engines.shell.git.git_texts import (
    author_of,
    clean_message,
    message_of,
    subject_of,
)
from agentworld_sim.engines.shell.git.git_work_tree import force_work
from agentworld_sim.engines.shell.git.repository import conflicts_of

_CONFLICT = """error: could not {1} {2}... {3}
hint: After resolving the conflicts, mark them with
hint: "git add/rm <pathspec>", then run
hint: "git {0} --continue".
hint: You can instead skip this commit with "git {0} --skip".
hint: To abort and get back to the state before "git {0}",
hint: run "git {0} --abort".
"""
_DIRTY = """error: your local changes would be overwritten by {}.
hint: commit your changes or stash them to proceed.
"""
_HEADS = {"cherry-pick": "CHERRY_PICK_HEAD", "revert": "REVERT_HEAD"}
_LONG = "no-commit=n no-edit mainline=m continue skip abort quit"


def _pick(run: GitRun, line: GitLine) -> None:
    if verb := line.last("continue", "skip", "abort", "quit"):
        _resume(run, verb)
        return
    ids = _commits(run, line.words)
    for at, oid in enumerate(ids):
        try:
            done = _pick_one(run, line, oid)
        except GitFailure:
            if not at:
                raise
            done = False
        if not done and (len(line.words) > 1 or ".." in line.words[0]):
            raise not_computed(f"{run.command} of several commits that stops at {oid}")


def _commits(run: GitRun, words: Sequence[str]) -> list[str]:
    """The commits that words name, in the order in which they are picked."""
    repo = run.repo
    if not words:
        raise not_computed(f"{run.command} without a commit")
    try:
        ranges = [run.range_of(word) for word in words]
        ids = [str(repo.commit(oid).id) for found, _ in ranges for oid in found]
    except GitFailure:
        raise fatal(f"bad revision '{words[0]}'") from None
    if hidden := [oid for _, without in ranges for oid in without]:
        ids = [str(one.id) for one in walk(repo, ids, hidden, Paths(repo, []))]
        ids = ids[:: 1 if run.command == "revert" else -1]
    if not ids:
        raise _pick_failure(run, "error: empty commit set passed\n")
    return ids


cherry_pick, revert = takes("nxm:", _LONG)(_pick), takes("nm:", _LONG)(_pick)


def _pick_failure(run: GitRun, text: str) -> GitFailure:
    return GitFailure(f"{text}fatal: {run.command} failed\n")


def _pick_one(run: GitRun, line: GitLine, oid: str) -> bool:
    """Brings the changes of a commit, or their opposite, to HEAD; whether nothing stopped it."""
    repo, reverts, commits = run.repo, run.command == "revert", "n" not in line
    made, index = repo.commit(oid), repo.index
    message, parents, number = message_of(made), made.parent_ids, int(line.value("m") or 0)
    short, title = repo.short(oid), subject_of(message)
    if conflicts_of(index):
        said = NOT_RESOLVED.format("Reverting" if reverts else "Cherry-picking")
        raise _pick_failure(run, said.partition("fatal:")[0])
    staged = str(index.write_tree())
    if commits and staged != str(repo.tree("HEAD").id):
        raise _pick_failure(run, _DIRTY.format(run.command))
    if len(parents) > 1 and not number:
        raise _pick_failure(run, f"error: commit {oid} is a merge but no -m option was given.\n")
    if number > len(parents):
        raise _pick_failure(run, f"error: commit {oid} does not have parent {number}\n")
    parent = str(parents[max(number - 1, 0)]) if parents else None
    old, new, label = repo.tree(parent), made.tree, f"{short} ({title})"
    if reverts:
        old, new, label = new, old, f"parent of {label}"
        rest = f", reversing\nchanges made to {parent}" if len(parents) > 1 else ""
        message = f'Revert "{title}"\n\nThis reverts commit {oid}{rest}.\n'
    elif "x" in line:
        message = message.rstrip("\n")
        last = message.split("\n\n")[1:][-1:]
        trailers = last and re.fullmatch(r"([\w-]+: .*\n?|\(cherry picked .*\n?)+", last[0])
        message += f"\n{chr(10) * (not trailers)}(cherry picked from commit {oid})\n"
    try:
        clean = join(run, old, new, "HEAD", label)
    except GitFailure as failure:
        if not commits and staged != str(repo.tree("HEAD").id):
            raise not_computed(f"{run.command} -n where changes are staged") from None
        raise _pick_failure(run, str(failure)) from None
    if not clean and not commits:
        raise not_computed(f"{run.command} -n with conflicts")
    if not clean:
        message += f"\n{conflict_list(repo)}"
        verb = "revert" if reverts else "apply"
        run.fail(_CONFLICT.format(run.command, verb, short, title), 1)
    tree = None if conflicts_of(index) else str(index.write_tree())
    empty = commits and tree == str(repo.tree("HEAD").id)
    if not (clean and commits) or (empty and not reverts):
        repo.put("MERGE_MSG", message)
        if commits or reverts:
            repo.put(_HEADS[run.command], f"{oid}\n")
    if empty:
        run.fail(EMPTY_PICK * (not reverts), 1)
        run.out.append(Status(repo, Paths(repo, [])).long())
    if empty or not clean or not commits:
        return clean and not empty
    author = "" if reverts else author_of(made)
    again = repo.write_commit(str(tree), [str(repo.head)], clean_message(message), author)
    repo.set_ref("HEAD", again, f"{run.command}: {subject_of(message)}")
    run.out.append(report(repo, again, dated=True))
    return True


def _resume(run: GitRun, verb: str) -> None:
    """Goes on with a commit that stopped, or gives it up."""
    repo = run.repo
    if verb == "continue" and any(map(repo.text, _HEADS.values())):
        text = re.sub(r"^#.*\n", "", repo.text("MERGE_MSG") or "", flags=re.MULTILINE)
        commit(run, ["-m", text])
    elif verb == "quit":
        repo.drop(*_HEADS.values())
    elif not any(map(repo.text, _HEADS.values())):
        what = run.command if verb == "skip" else "cherry-pick or revert"
        raise _pick_failure(run, f"error: no {what} in progress\n")
    elif Status(repo, Paths(repo, []), "no").unstaged:
        raise not_computed(f"{run.command} --{verb} with changes that are not staged")
    else:
        force_work(repo, repo.tree("HEAD"))
        repo.put("ORIG_HEAD", f"{repo.head}\n")
        repo.set_ref("HEAD", str(repo.head), f"reset: moving to {repo.head}")
