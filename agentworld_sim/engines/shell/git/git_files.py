"""The commands of git that look into the files it knows: `ls-files`, `grep`, `blame`."""

from __future__ import annotations

import re
from posixpath import relpath

import pygit2
from pygit2.enums import ObjectType

from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.git_status import Status
from agentworld_sim.engines.shell.git.git_texts import date_text, quote_path
from agentworld_sim.engines.shell.git.repository import entries, text_of


@takes("om", "others=o modified=m exclude-standard error-unmatch")
def ls_files(run: GitRun, line: GitLine) -> None:
    repo = run.tree
    paths, index = Paths(repo, line.words), repo.index
    if "error-unmatch" in line:
        paths.find(repo)
    if "error-unmatch" in line and paths.unused:
        said = f"pathspec '{paths.unused[0]}' did not match any file(s) known to git"
        raise error(f"{said}\nDid you forget to 'git add'?")
    names = [name for name, _ in entries(index) if name in paths]
    status = Status(repo, paths, "all" if "o" in line else "no", ignored="o" in line)
    if "o" in line:
        names = sorted(status.untracked + ([] if "exclude-standard" in line else status.ignored))
    if "m" in line:
        names = [name for _, name, _ in status.unstaged]
    for name in names:
        if name.startswith(repo.prefix):
            run.say(quote_path(relpath(name, repo.prefix) if repo.prefix else name))


@takes(
    "ne:ilLcwEFPqhHvIA:B:C:o",
    "line-number=n ignore-case=i files-with-matches=l name-only=l count=c word-regexp=w extended-regexp=E "
    "fixed-strings=F perl-regexp=P quiet=q cached invert-match=v no-color context=C",
)
def grep(run: GitRun, line: GitLine) -> None:
    repo, words = run.repo, list(line.operands)
    patterns = line.values("e") or words[:1]
    if not patterns:
        raise fatal("no pattern given")
    words = words if "e" in line else words[1:]
    revision = ""
    if words and repo.find(words[0]) and (line.rest or not (repo.folder / words[0]).exists()):
        revision = words.pop(0)
    paths, source = Paths(repo, [*words, *(line.rest or ())]), repo.index
    if revision:
        source = pygit2.Index()
        source.read_tree(repo.tree(revision))
    # The machine's own grep does the work, file by file.
    passed = [
        f"-{name}{value}" for name, value in line.options if len(name) == 1 and name not in "eq"
    ]
    passed = ["--binary-files=without-match" if one == "-I" else one for one in passed]
    for name in dict.fromkeys(name for name, _ in entries(source)):
        if name not in paths or not (name.startswith(repo.prefix) or paths.given):
            continue
        if revision or "cached" in line:
            data = repo.get(str(source[name].id)).read_raw()
        elif (repo.folder / name).is_file():
            data = (repo.folder / name).read_bytes()
        else:
            continue
        shown = relpath(name, repo.prefix) if repo.prefix else name
        label = f"--label={revision}{':' * bool(revision)}{shown}"
        words = [label, "-H", *passed, *(f"-e{one}" for one in patterns), "-"]
        found = run.call.native(words, text_of(data), program="grep").stdout
        if not ("c" in line and found.endswith(":0\n")):
            run.out.append(found)
    run.exit_code = int(not any(run.out))
    if "q" in line:
        run.out.clear()


@takes("L:se", "date:")
def blame(run: GitRun, line: GitLine) -> None:
    repo, words = run.tree, line.words
    if not words:
        raise not_computed("blame without a file")
    name, now, newest = (
        repo.name_of(words[-1]),
        "",
        str(repo.commit(words[0] if words[1:] else None).id),
    )
    try:
        data = repo.get(repo.resolve(f"{newest}:{name}")).read_raw()
    except GitFailure:
        place = f" {words[-1]} in {words[0]}" if words[1:] else f" '{words[-1]}' in HEAD"
        raise fatal(f"no such path{place}") from None
    if not words[1:] and (work := (repo.folder / name).read_bytes()) != data:
        # What is not committed yet is blamed on a commit that the world never sees.
        blob, index = repo.library.create_blob(work), pygit2.Index()
        index.read_tree(repo.tree("HEAD"))
        index.add(pygit2.IndexEntry(name, blob, repo.library.index[name].mode))
        now = f"Not Committed Yet <not.committed.yet> {repo.date('')}"
        lines = f"tree {index.write_tree(repo.library)}\nparent {newest}\nauthor {now}\ncommitter {now}\n\n"
        newest, data = str(repo.library.write(ObjectType.COMMIT, lines.encode())), work
    texts = text_of(data).splitlines()
    first, last = 1, len(texts)
    if given := line.value("L"):
        if not (match := re.fullmatch(r"(\d*)(?:,(\+?)(\d+))?", given)):
            raise not_computed("blame -L with a pattern")
        first, end = int(match[1] or 1), int(match[3] or last)
        last = first + end - 1 if match[2] else end
        if first > len(texts):
            raise fatal(f"file {words[-1]} has only {len(texts)} line{'s' * (len(texts) != 1)}")
    rows: list[tuple[str, str, str, int]] = []
    hunks = repo.library.blame(name, newest_commit=newest)
    for number in range(first, min(last, len(texts)) + 1):
        hunk = hunks.for_line(number)
        commit = repo.commit(str(hunk.final_commit_id))
        oid = ("^" if hunk.boundary else "") + str(commit.id)
        oid = "0" * 8 if now and str(commit.id) == newest else oid
        shown = oid[: 8 if oid[0] in "0^" else len(repo.short(str(commit.id))) + 1]
        shown += f" {hunk.orig_path}" if hunk.orig_path != name else ""
        who = f"<{commit.author.email}>" if "e" in line else commit.author.name
        rows.append((shown, who, date_text(commit.author, line.value("date") or "iso"), number))
    width, digits = max(len(who) for _, who, *_ in rows), len(str(rows[-1][3]))
    for shown, who, moment, number in rows:
        person = "" if "s" in line else f"({who:<{width}} {moment} "
        run.say(f"{shown} {person}{number:>{digits}}) {texts[number - 1]}")
