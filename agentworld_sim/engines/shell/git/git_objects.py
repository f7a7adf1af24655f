"""The commands of git that scripts ask for commits, objects and names: `rev-list`, `shortlog`, `cat-file`, `ls-tree`, `symbolic-ref`, `describe`."""

from __future__ import annotations

import re
from posixpath import relpath

import pygit2
from pygit2.enums import DescribeStrategy

from agentworld_sim.engines.shell.git.git_failure import GitFailure, fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_show import CHOICE_LONG, CHOICE_SHORT, chosen_commits
from agentworld_sim.engines.shell.git.git_status import Status, short_ref
from agentworld_sim.engines.shell.git.git_texts import message_of, quote_path, subject_of
from agentworld_sim.engines.shell.git.repository import text_of


@takes(CHOICE_SHORT, f"{CHOICE_LONG} max-count=n count left-right oneline abbrev-commit")
def rev_list(run: GitRun, line: GitLine) -> None:
    repo, marks = run.repo, [""]
    commits, _ = chosen_commits(run, line)
    ids = [str(commit.id) for commit in commits]
    sides = [""] * len(ids)
    if "left-right" in line:
        marks, left = ["<", ">"], next((one for one in line.operands if "..." in one), "...")
        tip = str(repo.commit(left.split("...")[0]).id)
        sides = ["<" if repo.is_ancestor(oid, tip) else ">" for oid in ids]
    if "count" in line:
        run.say("\t".join(str(sides.count(mark)) for mark in marks))
        return
    for side, oid, commit in zip(sides, ids, commits, strict=True):
        shown = repo.short(oid) if line.last("oneline", "abbrev-commit") else oid
        title = f" {subject_of(message_of(commit))}" if "oneline" in line else ""
        run.say(f"{side}{shown}{title}")


@takes("sne", f"{CHOICE_LONG} summary=s numbered=n email=e")
def shortlog(run: GitRun, line: GitLine) -> None:
    if not line.operands and "all" not in line:
        if run.call.read_stdin():
            raise not_computed("shortlog of standard input")
        return
    found: dict[str, list[str]] = {}
    for commit in chosen_commits(run, line)[0][::-1]:
        who = f"{commit.author.name}{f' <{commit.author.email}>' * ('e' in line)}"
        found.setdefault(who, []).append(f"      {subject_of(message_of(commit))}\n")
    rows = sorted(found.items())
    for who, titles in sorted(rows, key=lambda row: -len(row[1]) * ("n" in line)):
        count = f"{len(titles):>6}\t{who}"
        run.say(count if "s" in line else f"{who} ({len(titles)}):\n{''.join(titles)}")


@takes("tspe")
def cat_file(run: GitRun, line: GitLine) -> None:
    repo, verb, (*kind, name) = run.repo, line.last(*"tspe"), line.words or [""]
    if len(kind) != (verb is None) or set(kind) - _TYPES.keys():
        raise not_computed("cat-file with such arguments")
    if not (oid := repo.find(name)):
        if ":" in name:
            repo.resolve(name)
        if verb in ("e", "t", "s") and re.fullmatch("[0-9a-f]{40}", name):
            said = "fatal: git cat-file: could not get object info\n"
            raise GitFailure("", 1) if verb == "e" else GitFailure(said)
        raise fatal(f"Not a valid object name {name}")
    found = repo.get(oid)
    try:
        found = found.peel(_TYPES[kind[0]]) if kind else found
    except (pygit2.GitError, ValueError):
        raise fatal(f"git cat-file {name}: bad file") from None
    if verb in ("t", "s"):
        run.say(found.type_str if verb == "t" else str(len(found.read_raw())))
    elif verb != "e" and isinstance(found, pygit2.Tree):
        run.out += [_row(one, one.name or "") for one in found]
    elif verb != "e":
        run.out.append(text_of(found.read_raw()))


_TYPES = {"commit": pygit2.Commit, "blob": pygit2.Blob, "tag": pygit2.Tag}


def _row(one: pygit2.Object, name: str, *, sized: bool = False) -> str:
    size = len(one.read_raw()) if isinstance(one, pygit2.Blob) else "-"
    shown = f" {size:>7}" * sized
    return f"{one.filemode:06o} {one.type_str} {one.id}{shown}\t{quote_path(name)}\n"


@takes("rdtl", "name-only name-status=name-only full-tree full-name long=l")
def ls_tree(run: GitRun, line: GitLine) -> None:
    repo, (name, *given) = run.repo, line.words or [""]
    prefix = "" if "full-tree" in line else repo.prefix
    wanted = [repo.name_of(text) + "/" * text.endswith("/") for text in given] or [prefix]
    folders = tuple(text.rstrip("/") + "/" * bool(text) for text in wanted)
    if not name or (given and ({"", "/"} & set(wanted) or prefix != repo.prefix)):
        raise not_computed("ls-tree with such arguments")
    if not (oid := repo.find(name)):
        raise fatal(f"Not a valid object name {name}")
    try:
        top = repo.get(oid).peel(pygit2.Tree)
    except (pygit2.GitError, ValueError):
        raise fatal("not a tree object") from None

    def show(tree: pygit2.Tree, above: str) -> None:
        for one in tree:
            path = f"{above}{one.name}"
            deeper = any(text.startswith(f"{path}/") for text in wanted)
            chosen = f"{path}/".startswith(folders)
            down = isinstance(one, pygit2.Tree) and (deeper or (chosen and "r" in line))
            if (chosen and not down) or (down and "t" in line):
                shown = relpath(path, prefix) if prefix and "full-name" not in line else path
                row = _row(one, shown, sized="l" in line)
                row = row.partition("\t")[2] if "name-only" in line else row
                run.out += [row] * (isinstance(one, pygit2.Tree) or "d" not in line)
            if isinstance(one, pygit2.Tree) and down:
                show(one, f"{path}/")

    show(top, "")


@takes("q", "short quiet=q")
def symbolic_ref(run: GitRun, line: GitLine) -> None:
    repo, (name, *target) = run.repo, line.words or [""]
    if target or not name:
        raise not_computed("symbolic-ref that sets a name")
    text = repo.text(name) or ""
    if text.startswith("ref: "):
        run.say(short_ref(text[5:].strip()) if "short" in line else text[5:].strip())
    elif "q" in line:
        run.exit_code = 1
    else:
        raise fatal(f"ref {name} is not a symbolic ref")


@takes("", "tags always long exact-match abbrev: dirty:: match:")
def describe(run: GitRun, line: GitLine) -> None:
    repo, words = run.repo, line.words
    if "dirty" in line and words:
        raise fatal("option '--dirty' and commit-ishes cannot be used together")
    if not repo.find(name := (words or ["HEAD"])[0]):
        raise fatal(f"Not a valid object name {name}")
    oid, tags = str(repo.commit(name).id), repo.refs("refs/tags/")
    if not tags and "always" not in line:
        raise fatal("No names found, cannot describe anything.")
    now = Status(run.tree, Paths(repo, []), "no") if "dirty" in line else None
    dirty = (line.value("dirty") or "-dirty") if now and (now.staged or now.unstaged) else ""
    try:
        text = repo.library.describe(
            repo.commit(oid),
            max_candidates_tags=0 if "exact-match" in line else None,
            describe_strategy=DescribeStrategy.TAGS if "tags" in line else DescribeStrategy.DEFAULT,
            pattern=line.value("match"),
            show_commit_oid_as_fallback="always" in line,
            abbreviated_size=int(line.value("abbrev") or len(repo.short(oid))),
            always_use_long_format="long" in line,
        )  # fmt: skip
    except (KeyError, pygit2.GitError):
        if "exact-match" in line:
            raise fatal(f"no tag exactly matches '{oid}'") from None
        if "tags" not in line and any(repo.is_ancestor(str(repo.commit(t).id), oid) for t in tags):
            said = f"No annotated tags can describe '{oid}'.\nHowever, there were unannotated tags: try --tags."
        else:
            said = f"No tags can describe '{oid}'.\nTry --always, or create some tags."
        raise fatal(said) from None
    run.say(text + dirty)
