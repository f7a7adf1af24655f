"""`git merge` and `git stash`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pygit2
from pygit2.enums import FileMode

from agentworld_sim.engines.shell.git.git_commit import NOT_RESOLVED
from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_index import save_index, stage
from agentworld_sim.engines.shell.git.git_run import (
    GitLine,
    GitRun,
    Paths,
    Subcommand,
    options,
    takes,
)
from agentworld_sim.engines.shell.git.git_show import (
    DIFF_LONG,
    DIFF_SHORT,
    ChangesView,
    plain_view,
)
from agentworld_sim.engines.shell.git.git_stat import counts_of, stat_table, summary
from agentworld_sim.engines.shell.git.git_status import Status
from agentworld_sim.engines.shell.git.git_texts import clean_message, message_of, subject_of
from agentworld_sim.engines.shell.git.git_work_tree import force_work, restore_paths, update_work
from agentworld_sim.engines.shell.git.repository import (
    Repository,
    Side,
    bytes_of,
    conflicts_of,
    entries,
    text_of,
)

_FIX = "Automatic merge failed; fix conflicts and then commit the result."
_NOT_CONCLUDED = """You have not concluded your merge (MERGE_HEAD exists).
Please, commit your changes before you merge."""


def join(
    run: GitRun, base: pygit2.Tree, theirs: pygit2.Tree, ours_name: str, their_name: str
) -> bool:
    """Merges what came from `base` to `theirs` into index and work tree; whether there was no conflict."""
    repo, library = run.repo, run.repo.library
    ours = repo.tree(str(library.index.write_tree()))
    merged = library.merge_trees(base, ours, theirs)
    conflicts = conflicts_of(merged)
    clean = {name: entry for name, entry in entries(merged) if name not in conflicts}
    plain = pygit2.Index()
    for entry in clean.values():
        plain.add(entry)
    (mine_in, mine_away), (their_in, their_away) = _changes(base, ours), _changes(base, theirs)
    if mine_away & (their_in | their_away) or their_away & mine_in:
        raise not_computed("merge of a renamed file that both sides changed")
    both = mine_in & their_in
    for name in sorted(both | conflicts.keys()):
        if name not in conflicts:
            there = name in clean and name in ours and name in theirs
            if there and ours[name].id != theirs[name].id:
                run.say(f"Auto-merging {name}")
            continue
        old, mine, other = conflicts[name]
        if mine and other:
            text = _text_with_marks(repo, conflicts[name], ours_name, their_name)
            run.say(f"Auto-merging {name}")
            run.say(f"CONFLICT ({'content' if old else 'add/add'}): Merge conflict in {name}")
        elif left := mine or other:
            text = text_of(repo.get(str(left.id)).read_raw())
            gone, kept = (their_name, ours_name) if mine else (ours_name, their_name)
            said = f"{name} deleted in {gone} and modified in {kept}.  Version {kept} of {name}"
            run.say(f"CONFLICT (modify/delete): {said} left in tree.")
        else:
            raise not_computed("merge of files that both sides renamed")
        mode = (mine or other or merged[name]).mode
        plain.add(pygit2.IndexEntry(name, library.create_blob(bytes_of(text)), mode))
    update_work(repo, repo.tree(str(plain.write_tree(library))), "merge", "merge")
    for name, sides in conflicts.items():
        if name in library.index:
            library.index.remove(name)
        library.index.add_conflict(*sides)  # pyright: ignore[reportArgumentType]
    save_index(repo)
    return not conflicts


def _text_with_marks(
    repo: Repository, sides: Sequence[Side], ours_name: str, their_name: str
) -> str:
    names = ("base", ours_name, their_name)
    labels = [
        side and pygit2.IndexEntry(name, side.id, side.mode)
        for side, name in zip(sides, names, strict=True)
    ]
    found = repo.library.merge_file_from_index(*labels, use_deprecated=False)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return found.contents


def _changes(base: pygit2.Tree, side: pygit2.Tree) -> tuple[set[str], set[str]]:
    """The files of `base` that one side changed or deleted, and those that it renamed."""
    made = base.diff_to_tree(side)
    made.find_similar()
    rows = [(delta.status_char(), delta.old_file.path) for delta in made.deltas]
    return {name for x, name in rows if x not in "AR"}, {name for x, name in rows if x == "R"}


@takes("m:qn", "no-ff ff-only ff abort no-edit message=m quiet=q stat no-stat=n")
def merge(run: GitRun, line: GitLine) -> None:
    repo, words = run.tree, line.words
    under_way = repo.text("MERGE_HEAD")
    if "abort" in line:
        if not under_way:
            raise fatal("There is no merge to abort (MERGE_HEAD missing).")
        force_work(repo, repo.tree("HEAD"))
        return
    if repo.library.index.conflicts:
        raise GitFailure(NOT_RESOLVED.format("Merging"))
    if under_way:
        raise fatal(_NOT_CONCLUDED)
    if len(words) != 1:
        raise not_computed("merge of other than one branch")
    name = words[0]
    if not repo.find(name):
        raise GitFailure(f"merge: {name} - not something we can merge\n", 1)
    theirs, head = repo.commit(name), repo.commit()
    oid, old = str(theirs.id), str(head.id)
    base, out = repo.merge_base(old, oid), len(run.out)
    if base == oid:
        run.say("Already up to date.")
        return
    if base == old and "no-ff" not in line:
        run.say(f"Updating {repo.short(old)}..{repo.short(oid)}")
        update_work(repo, theirs.tree, "merge", "merge")
        save_index(repo)
        repo.put("ORIG_HEAD", old + "\n")
        repo.set_ref("HEAD", oid, f"merge {name}: Fast-forward")
        run.say("Fast-forward")
    else:
        if "ff-only" in line:
            raise fatal("Not possible to fast-forward, aborting.")
        if base is None:
            raise fatal("refusing to merge unrelated histories")
        into = f" into {repo.branch}" if repo.branch not in ("master", "main", None) else ""
        given = "\n\n".join(line.values("m"))
        message = given or f"Merge {repo.kind_of(name)} '{name}'{into}"
        if not _true_merge(run, head, theirs, base, name, message):
            return
    if "n" not in line:
        view = plain_view(repo)
        patches = view.patches(view.between(head.tree, repo.tree("HEAD")))
        run.out.append(stat_table(counts_of(patches)) + summary(repo, patches))
    if "q" in line:
        del run.out[out:]


def _true_merge(
    run: GitRun, head: pygit2.Commit, theirs: pygit2.Commit, base: str, name: str, message: str
) -> bool:
    """Makes a commit with two parents; `False` where conflicts come before."""
    repo, old, oid = run.repo, str(head.id), str(theirs.id)
    if staged := [row[1] for row in Status(repo, Paths(repo, []), "no").staged]:
        said = "error: Your local changes to the following files would be overwritten by merge:\n  "
        raise GitFailure(f"{said}{' '.join(staged)}\nMerge with strategy ort failed.\n", 2)
    repo.ident("committer")
    repo.put("ORIG_HEAD", old + "\n")
    try:
        clean = join(run, repo.tree(base), theirs.tree, "HEAD", name)
    except GitFailure as failure:
        raise GitFailure(f"{failure}Merge with strategy ort failed.\n", 2) from None
    if clean:
        tree = str(repo.library.index.write_tree())
        made = repo.write_commit(tree, [old, oid], clean_message(message))
        repo.set_ref("HEAD", made, f"merge {name}: Merge made by the 'ort' strategy.")
        run.say("Merge made by the 'ort' strategy.")
        return True
    repo.put("MERGE_HEAD", oid + "\n")
    repo.put("MERGE_MODE", "")
    repo.put("MERGE_MSG", f"{message}\n\n{conflict_list(repo)}")
    run.say(_FIX)
    run.exit_code = 1
    return False


def conflict_list(repo: Repository) -> str:
    """What git adds to the message of a merge with conflicts."""
    names = "".join(f"#\t{one}\n" for one in sorted(conflicts_of(repo.library.index)))
    return f"# Conflicts:\n{names}"


# The stash


def stash(run: GitRun, argv: Sequence[str]) -> None:
    verb, words = "push", list(argv)
    if words and not words[0].startswith("-"):
        verb = words.pop(0)
    if verb not in _VERBS:
        raise not_computed(f"stash {verb}")
    _VERBS[verb](run, words)


@takes("m:qu", "message=m quiet=q include-untracked=u")
def _push(run: GitRun, line: GitLine) -> None:
    repo = run.tree
    if repo.head is None:
        raise GitFailure("You do not have the initial commit yet\n", 1)
    if line.words:
        raise not_computed("stash push with paths")
    library, head = repo.library, repo.commit()
    now = Status(repo, Paths(repo, []), "all" if "u" in line else "no")
    if now.conflicts:
        run.out += [f"{name}: needs merge\n" for name in now.conflicts]
        run.exit_code = 1
        return
    if not (now.staged or now.unstaged or now.untracked):
        run.say("No local changes to save")
        return
    place, old = repo.branch or "(no branch)", str(head.id)
    subject = f"{place}: {repo.short(old)} {subject_of(message_of(head))}"
    index = repo.write_commit(str(library.index.write_tree()), [old], f"index on {subject}\n")
    for _, name, _ in now.unstaged:
        stage(repo, name)
    work = str(library.index.write_tree())
    text = line.value("m")
    said = f"On {place}: {text}" if text else f"WIP on {subject}"
    parents, others = [old, index], pygit2.Index()
    for name in now.untracked:
        stage(repo, name)
        others.add(library.index[name])
        if library.index[name].mode == FileMode.LINK:
            raise not_computed("stash of a link that is not tracked")
    if now.untracked:
        tree = str(others.write_tree(library))
        parents.append(repo.write_commit(tree, [], f"untracked files on {subject}\n"))
    oid = repo.write_commit(work, parents, said)
    # Those that are not tracked are in the index by now, and go as well.
    force_work(repo, head.tree)
    repo.set_ref("refs/stash", oid, said)
    if "q" not in line:
        run.say(f"Saved working directory and index state {said}")


def _entry(run: GitRun, words: Sequence[str]) -> tuple[int, pygit2.Commit]:
    repo, text = run.repo, words[0] if words else "0"
    log = repo.log_of("refs/stash")
    if not log and words:
        raise error(f"{text} is not a valid reference")
    if not log:
        raise GitFailure("No stash entries found.\n", 1)
    if not (match := re.fullmatch(r"(?:stash@\{)?(\d+)\}?", text)):
        raise not_computed(f"stash with {text}")
    if int(match[1]) >= len(log):
        raise fatal(f"log for 'stash' only has {len(log)} entries")
    return int(match[1]), repo.commit(log[int(match[1])][1])


@takes()
def _list(run: GitRun, line: GitLine) -> None:
    for at, (_, _, said) in enumerate(run.repo.log_of("refs/stash")):
        run.say(f"stash@{{{at}}}: {said}")


@takes(DIFF_SHORT, DIFF_LONG)
def _show(run: GitRun, line: GitLine) -> None:
    repo, (_, saved) = run.repo, _entry(run, line.operands)
    if not line.options:
        line = options("", "stat").read("stash show", ["--stat"])
    view = ChangesView(repo, line, Paths(repo, []))
    run.out.append(view.text(view.between(repo.tree(str(saved.parent_ids[0])), saved.tree)))


def _apply_entry(run: GitRun, line: GitLine) -> bool:
    """Brings an entry back; whether there was no conflict."""
    repo, (_, saved) = run.tree, _entry(run, line.operands)
    library, base = repo.library, repo.tree(str(saved.parent_ids[0]))
    before = dict(entries(library.index))
    deltas = base.diff_to_tree(saved.tree).deltas
    added = {delta.new_file.path for delta in deltas if delta.status_char() == "A"}
    if saved.tree.id == base.id:
        run.say("Already up to date.")
    clean = False
    try:
        clean = join(run, base, saved.tree, "Updated upstream", "Stashed changes")
    except GitFailure as failure:
        run.err.append(str(failure))
    if clean:
        for name, _ in entries(library.index):
            if name not in before and name not in added:
                library.index.remove(name)
        for entry in before.values():
            library.index.add(entry)
        if "index" in line:
            library.index.read_tree(repo.tree(str(saved.parent_ids[1])))
        save_index(repo)
    others = pygit2.Index()
    others.read_tree(
        untracked := repo.tree(str(saved.parent_ids[2]) if saved.parent_ids[2:] else None)
    )
    names = [name for name, _ in entries(others)]
    there = [name for name in names if (repo.folder / name).exists()]
    if free := [f":/{name}" for name in names if name not in there]:
        restore_paths(repo, Paths(repo, free), untracked, index=False, work=True)
    if there:
        run.err += [f"{name} already exists, no checkout\n" for name in there]
        run.complain("error: could not restore untracked files from stash")
        clean = False
    if "q" not in line:
        run.out.append(Status(repo, Paths(repo, [])).long())
    run.exit_code = int(not clean)
    return clean


@takes("q", "index quiet=q")
def _apply(run: GitRun, line: GitLine) -> None:
    _apply_entry(run, line)


@takes("q", "index quiet=q")
def _pop(run: GitRun, line: GitLine) -> None:
    if _apply_entry(run, line):
        _drop_entry(run, line)
    else:
        run.say("The stash entry is kept in case you need it again.")


@takes("q", "quiet=q")
def _drop(run: GitRun, line: GitLine) -> None:
    _drop_entry(run, line)


def _drop_entry(run: GitRun, line: GitLine) -> None:
    repo, (at, saved) = run.repo, _entry(run, line.operands)
    lines = (repo.text("logs/refs/stash") or "").splitlines(keepends=True)
    del lines[len(lines) - 1 - at]
    if lines:
        repo.put("logs/refs/stash", "".join(lines))
        repo.put("refs/stash", lines[-1][41:81] + "\n")
    else:
        repo.drop("refs/stash", "logs/refs/stash")
    if "q" not in line:
        run.say(f"Dropped {line.operands[0] if line.operands else 'refs/stash@{0}'} ({saved.id})")


@takes()
def _clear(run: GitRun, line: GitLine) -> None:
    run.repo.drop("refs/stash", "logs/refs/stash")


_VERBS: dict[str, Subcommand] = {
    "push": _push, "list": _list, "show": _show, "pop": _pop, "apply": _apply, "drop": _drop, "clear": _clear,
}  # fmt: skip
