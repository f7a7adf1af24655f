"""The command `git` of the simulated machine, with `config`, `rev-parse` and `merge-base`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pygit2

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.git import (
    git_branches,
    git_commit,
    git_files,
    git_index,
    git_merge,
    git_objects,
    git_pick,
    git_remotes,
    git_show,
    git_status,
    git_work_tree,
)
from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_names import command_line
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Subcommand, takes
from agentworld_sim.engines.shell.git.git_settings import settings_in, user_file
from agentworld_sim.engines.shell.git.repository import UNKNOWN, bytes_of

VERSION = "2.39.5"


def git(call: CommandCall) -> CommandResult:
    """Answers one call of `git`.

    Raises:
        NotComputed: for subcommands and options that are not computed.
    """
    run = GitRun(call, call.files.realpath(call.cwd), [])
    try:
        words = _own_options(run, list(call.argv))
        run.command, *rest = command_line(run, words or ["help"])
        if run.command not in COMMANDS:
            raise not_computed(run.command)
        run.do(COMMANDS[run.command], rest)
    except GitFailure as failure:
        run.fail(str(failure), failure.exit_code)
    except (re.error, OverflowError, ValueError) as failure:
        # A number or a pattern that is none: git has words of its own for each.
        raise not_computed(f"{' '.join(call.argv)} ({failure})") from None
    except (pygit2.GitError, OSError) as failure:
        said = (
            f"{failure.filename}: {failure.strerror}"
            if isinstance(failure, OSError)
            else str(failure)
        )
        # It may name a file of the copy, which is no part of the world.
        run.fail(re.sub(r"\S*agentworld-git-\w+/?", "", f"fatal: {said}\n"), 128)
    # The embedded shell carries text only.
    out, err = (bytes_of("".join(texts)).decode("utf-8", "replace") for texts in (run.out, run.err))
    return CommandResult(out, err, run.exit_code)


def _own_options(run: GitRun, words: list[str]) -> list[str]:
    """Reads the options before the subcommand; the words from there on."""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("--version", "-v"):
            return ["version"]
        if option == "-C" and words:
            given = words.pop(0)
            run.folder = run.call.files.realpath(run.path(given))
            if not run.call.files.exists(run.folder):
                raise fatal(f"cannot change to '{given}': No such file or directory")
        elif option == "-c" and words:
            name, equals, value = words.pop(0).partition("=")
            run.extra.append((name.lower(), value if equals else "true"))
        elif option not in ("--no-pager", "-P", "--no-optional-locks"):
            raise not_computed(option)
    return words


@takes()
def version(run: GitRun, line: GitLine) -> None:
    run.say(f"git version {VERSION}")


@takes("l", "global local list=l get get-all unset")
def config(run: GitRun, line: GitLine) -> None:
    words, path = line.words, None
    if "global" in line:
        path = user_file(run.call)
    elif "local" in line:
        path = f"{run.repo.git_dir}/config"
    settings = settings_in(run.call, path) if path else run.settings
    if "l" in line:
        if path and not run.call.files.exists(path):
            raise fatal(f"unable to read config file '{path}': No such file or directory")
        run.out += [f"{name}={value}\n" for name, value in settings]
        return
    if not words or len(words) > 2:
        raise not_computed("config with such arguments")
    section, dot, key = words[0].rpartition(".")
    if not dot:
        raise error(
            f"key does not contain a section: {words[0]}",
            1 + ("get" not in line and len(words) > 1),
        )
    if not re.fullmatch(r"[A-Za-z][\w-]*", key):
        raise error(f"invalid key: {words[0]}")
    head, _, inner = section.partition(".")
    name = ".".join(filter(None, (head.lower(), inner, key.lower())))
    values = [value for one, value in settings if one == name]
    if "unset" in line and not values:
        run.exit_code = 5
    elif "unset" in line:
        run.set_config(words[0], None, path)
    elif len(words) > 1:
        run.set_config(words[0], words[1], path)
    else:
        run.out += [f"{value}\n" for value in (values if "get-all" in line else values[-1:])]
        run.exit_code = int(not values)


def rev_parse(run: GitRun, argv: Sequence[str]) -> None:
    repo = run.repo
    inside = f"{run.folder}/".startswith(repo.git_dir + "/")
    here = run.folder == repo.top and not repo.bare
    places: dict[str, Callable[[], str]] = {
        "--show-toplevel": lambda: run.tree.top,
        "--git-dir": lambda: (
            ".git" if here else "." if run.folder == repo.git_dir else repo.git_dir
        ),
        "--is-inside-work-tree": lambda: str(not repo.bare and not inside).lower(),
        "--is-inside-git-dir": lambda: str(inside).lower(),
        "--is-bare-repository": lambda: str(repo.bare).lower(),
        "--show-prefix": lambda: repo.prefix,
        "--show-cdup": lambda: "../" * repo.prefix.count("/"),
    }
    options = {word for word in argv if word.startswith("-")}
    if rest := options - places.keys() - {"--short", "--abbrev-ref", "--verify", "-q", "--quiet"}:
        raise not_computed(f"rev-parse {min(rest)}")
    for word in argv:
        if word in places:
            run.say(places[word]())
        elif word in options:
            continue
        elif "--abbrev-ref" in options:
            run.say(_short_name(run, word))
        elif ".." in word and not repo.find(word):
            tips, without = run.range_of(word)
            run.out += [f"{oid}\n" for oid in tips] + [f"^{oid}\n" for oid in without]
        elif oid := word.lower() if re.fullmatch("[0-9a-fA-F]{40}", word) else repo.find(word):
            run.say(repo.short(oid) if "--short" in options else oid)
        elif "--verify" not in options:
            run.say(word)
            raise fatal(UNKNOWN.format(word))
        elif options & {"-q", "--quiet"}:
            run.exit_code = 1
        else:
            raise fatal("Needed a single revision")


def _short_name(run: GitRun, word: str) -> str:
    """The name of the ref that a revision is."""
    repo = run.repo
    if not repo.find(word):
        if "@{u" in word:
            raise fatal(f"no upstream configured for branch '{repo.branch}'")
        run.say(word)
        raise fatal(UNKNOWN.format(word))
    word = "HEAD" if word == "@" else word
    if word == "HEAD":
        return repo.branch or word
    found = repo.library.revparse_ext(word)[1]
    return git_status.short_ref(found.name) if found else ""


@takes("", "is-ancestor")
def merge_base(run: GitRun, line: GitLine) -> None:
    ids = [str(run.repo.commit(name).id) for name in line.words]
    if len(ids) != 2:
        raise not_computed("merge-base of other than two commits")
    base = run.repo.merge_base(ids[0], ids[1])
    if "is-ancestor" in line:
        run.exit_code = int(base != ids[0])
    elif base:
        run.say(base)
    else:
        run.exit_code = 1


COMMANDS: Mapping[str, Subcommand] = {
    "add": git_index.add, "blame": git_files.blame, "branch": git_branches.branch, "checkout": git_branches.checkout, "cat-file": git_objects.cat_file, "cherry-pick": git_pick.cherry_pick, "clean": git_work_tree.clean,
    "commit": git_commit.commit, "config": config, "describe": git_objects.describe, "diff": git_show.diff, "clone": git_remotes.clone, "fetch": git_remotes.reach,
    "grep": git_files.grep, "init": git_index.init, "log": git_show.log, "ls-files": git_files.ls_files, "ls-remote": git_remotes.reach, "ls-tree": git_objects.ls_tree, "merge": git_merge.merge,
    "merge-base": merge_base, "mv": git_index.move, "pull": git_remotes.reach, "revert": git_pick.revert, "push": git_remotes.reach, "reflog": git_show.reflog,
    "remote": git_remotes.remote, "reset": git_work_tree.reset, "restore": git_work_tree.restore, "rev-list": git_objects.rev_list, "rev-parse": rev_parse,
    "rm": git_index.remove, "shortlog": git_objects.shortlog, "show": git_show.show, "stash": git_merge.stash, "status": git_status.status,
    "switch": git_branches.switch, "symbolic-ref": git_objects.symbolic_ref, "tag": git_commit.tag, "version": version,
}  # fmt: skip
"""The subcommands that are computed."""
