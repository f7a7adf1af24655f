"""`git commit` and `git tag`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pygit2
from pygit2.enums import FileStatus, ObjectType

from agentworld_sim.engines.shell.git.git_failure import (
    GitFailure,
    error,
    fatal,
    not_computed,
    unknown_paths,
)
from agentworld_sim.engines.shell.git.git_index import save_index, stage
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_show import plain_view
from agentworld_sim.engines.shell.git.git_stat import counts_of, summary, total_line
from agentworld_sim.engines.shell.git.git_status import Status
from agentworld_sim.engines.shell.git.git_texts import (
    author_of,
    clean_message,
    date_text,
    message_of,
    quote_path,
    subject_of,
)
from agentworld_sim.engines.shell.git.repository import (
    Repository,
    bytes_of,
    conflicts_of,
    entries,
    is_ref_name,
)

NOT_RESOLVED = """error: {} is not possible because you have unmerged files.
hint: Fix them up in the work tree, and then use 'git add/rm <file>'
hint: as appropriate to mark resolution and make a commit.
fatal: Exiting because of an unresolved conflict.
"""

EMPTY_PICK = """The previous cherry-pick is now empty, possibly due to conflict resolution.
If you wish to commit it anyway, use:

    git commit --allow-empty

Otherwise, please use 'git cherry-pick --skip'
"""
_CHANGED_IN_WORK = (
    FileStatus.WT_MODIFIED
    | FileStatus.WT_DELETED
    | FileStatus.WT_TYPECHANGE
    | FileStatus.CONFLICTED
)
_NO_EDITOR = (
    "Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option."
)


@takes(
    "am:F:qvn",
    "all=a message=m file=F quiet=q verbose=v no-verify=n amend no-edit allow-empty allow-empty-message author: no-gpg-sign",
)
def commit(run: GitRun, line: GitLine) -> None:
    repo, library = run.tree, run.tree.library
    index, old = library.index, repo.commit() if repo.head else None
    amended = old if "amend" in line else None
    if "amend" in line and old is None:
        raise fatal("You have nothing to amend.")
    picked, merge = repo.text("CHERRY_PICK_HEAD"), (repo.text("MERGE_HEAD") or "").split()
    if amended and (merge or picked):
        what = "merge" if merge else "cherry-pick"
        raise fatal(f"You are in the middle of a {what} -- cannot amend.")
    if "a" in line and line.words:
        raise fatal(f"paths '{line.words[0]} ...' with -a does not make sense")
    if "a" in line:
        for name, flag in library.status("no").items():
            if flag & _CHANGED_IN_WORK:
                stage(repo, name)
    if conflicts := conflicts_of(index):
        run.out += [f"U\t{quote_path(name)}\n" for name in sorted(conflicts)]
        raise GitFailure(NOT_RESOLVED.format("Committing"))
    tree = _tree_of(repo, line.words, old) if line.words else str(index.write_tree())
    last = [str(old.id)] if old else []
    parents = [*(map(str, amended.parent_ids) if amended else last), *merge]
    before = repo.tree(parents[0] if parents else None)
    if line.words and (merge or picked or str(before.id) == tree):
        raise not_computed("commit of some paths without changes, or in a merge")
    if str(before.id) == tree and not (merge or amended or "allow-empty" in line):
        run.out.append(Status(repo, Paths(repo, [])).long())
        run.fail(EMPTY_PICK * bool(picked), 1)
        return
    from_other = amended or (repo.commit(picked.strip()) if picked else None)
    author = author_of(from_other) if from_other else repo.ident("author")
    if name := line.value("author"):
        if not (match := re.fullmatch(r"(.*?) ?<(.*)>", name)):
            raise not_computed("commit --author with less than a name and an address")
        author = f"{match[1]} <{match[2]}> {author.rpartition('> ')[2]}"
    # Last, since what it reads from standard input is gone for whoever is asked instead.
    message = _message(run, line, amended, merging=repo.text("MERGE_MSG") is not None)
    oid = repo.write_commit(tree, parents, message, author)
    kind = " (amend)" if amended else " (merge)" if merge else "" if parents else " (initial)"
    kind = " (cherry-pick)" if picked else kind
    save_index(repo)
    repo.set_ref("HEAD", oid, f"commit{kind}: {subject_of(message)}")
    repo.conclude()
    if "q" not in line:
        run.out.append(report(repo, oid, dated=bool(from_other)))


def _tree_of(repo: Repository, words: list[str], last: pygit2.Commit | None) -> str:
    """Stages some paths; the tree of the last commit with them alone."""
    given, index, made = Paths(repo, words), repo.library.index, pygit2.Index()
    made.read_tree(last.tree if last else repo.tree(None))
    names = {name for name, _ in [*entries(index), *entries(made)] if name in given}
    if given.unused:
        raise unknown_paths(given.unused)
    for name in names:
        stage(repo, name)
        if name in index:
            made.add(index[name])
        elif name in made:
            made.remove(name)
    return str(made.write_tree(repo.library))


def _message(run: GitRun, line: GitLine, amended: pygit2.Commit | None, *, merging: bool) -> str:
    repo, kept = run.repo, "no-edit" in line or run.editor_does_nothing
    if "m" in line:
        text = "\n\n".join(line.values("m"))
    elif name := line.value("F"):
        text = run.read(name)
    elif amended and kept:
        text = message_of(amended)
    elif merging and kept:
        text = repo.text("MERGE_MSG") or ""
        if "no-edit" not in line:
            text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    else:
        raise error(_NO_EDITOR)
    text = clean_message(text)
    if not text.strip() and "allow-empty-message" not in line:
        raise GitFailure("Aborting commit due to empty commit message.\n", 1)
    return text


def report(repo: Repository, oid: str, *, dated: bool) -> str:
    """What git says after a commit."""
    made = repo.commit(oid)
    root = " (root-commit)" if not made.parent_ids else ""
    text = f"[{repo.branch or 'detached HEAD'}{root} {repo.short(oid)}] {subject_of(message_of(made))}\n"
    who, by = made.author, made.committer
    if (who.name, who.email) != (by.name, by.email):
        text += f" Author: {who.name} <{who.email}>\n"
    if dated:
        text += f" Date: {date_text(who, '')}\n"
    if len(made.parent_ids) > 1:
        return text
    view, parents = plain_view(repo), made.parent_ids
    before = repo.tree(str(parents[0]) if parents else None)
    patches = view.patches(view.between(before, made.tree))
    return text + total_line(counts_of(patches)) + summary(repo, patches)


@takes("alm:d:fn", "annotate=a list=l message=m delete=d force=f")
def tag(run: GitRun, line: GitLine) -> None:
    repo, words = run.repo, line.words
    if "d" in line:
        for name in [line.value("d") or "", *words]:
            if oid := repo.ref(f"refs/tags/{name}"):
                repo.drop_ref(f"refs/tags/{name}")
                run.say(f"Deleted tag '{name}' (was {repo.short(oid)})")
            else:
                run.fail(f"error: tag '{name}' not found.\n", 1)
        return
    if not words or "l" in line or "n" in line:
        for full, oid in repo.refs("refs/tags/").items():
            name, found = full.removeprefix("refs/tags/"), repo.get(oid)
            if words and not fnmatchcase(name, words[0]):
                continue
            own = isinstance(found, pygit2.Tag)
            said = found.message.split("\n")[0] if own else subject_of(message_of(repo.commit(oid)))
            run.say(f"{name:<15} {said}" if "n" in line else name)
        return
    name, full, target = words[0], f"refs/tags/{words[0]}", (words[1:] or ["HEAD"])[0]
    if not is_ref_name(name):
        raise fatal(f"'{name}' is not a valid tag name.")
    if (before := repo.ref(full)) and "f" not in line:
        raise fatal(f"tag '{name}' already exists")
    if not (oid := repo.find(target)):
        raise fatal(f"Failed to resolve '{target}' as a valid ref.")
    if "a" in line or "m" in line:
        if "m" not in line:
            raise error(_NO_EDITOR, 128)
        message = clean_message("\n\n".join(line.values("m")))
        head = f"object {oid}\ntype {repo.get(oid).type_str}\ntag {name}\ntagger {repo.ident('committer')}\n\n"
        oid = str(repo.library.write(ObjectType.TAG, bytes_of(head + message)))
    repo.put(full, f"{oid}\n")
    if before not in (None, oid):
        run.say(f"Updated tag '{name}' (was {repo.short(before)})")
