"""The commands of git that change the index: `init`, `add`, `rm`, `mv`."""

from __future__ import annotations

import pygit2
from pygit2.enums import FileMode, FileStatus

from agentworld_sim.engines.shell.git.git_failure import fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, Paths, takes
from agentworld_sim.engines.shell.git.repository import Repository, drop_conflict, entries

_EMPTY_ADD = """Nothing specified, nothing added.
hint: Maybe you wanted to say 'git add .'?
hint: Turn this message off by running
hint: "git config advice.addEmptyPathspec false"
"""
_IGNORED = """The following paths are ignored by one of your .gitignore files:
{}hint: Use -f if you really want to add them.
hint: Turn this message off by running
hint: "git config advice.addIgnoredFile false"
"""
_DEFAULT_BRANCH = """hint: Using 'master' as the name for the initial branch. This default branch name
hint: is subject to change. To configure the initial branch name to use in all
hint: of your new repositories, which will suppress this warning, call:
hint: 
hint: \tgit config --global init.defaultBranch <name>
hint: 
hint: Names commonly chosen instead of 'master' are 'main', 'trunk' and
hint: 'development'. The just-created branch can be renamed via this command:
hint: 
hint: \tgit branch -m <name>
"""
_DESCRIPTION = "Unnamed repository; edit this file 'description' to name the repository.\n"
_EXCLUDE = """# git ls-files --others --exclude-from=.git/info/exclude
# Lines that start with '#' are comments.
# For a project mostly in C, the following would be a good set of
# exclude patterns (uncomment them if you want to use them):
# *.[oa]
# *~
"""


@takes("qb:", "quiet=q initial-branch=b bare")
def init(run: GitRun, line: GitLine) -> None:
    files, names = run.call.files, line.words
    top = run.path(names[0]) if names else run.folder
    git_dir = top if "bare" in line else f"{top.rstrip('/')}/.git"
    again = files.exists(f"{git_dir}/HEAD")
    if not again:
        branch = line.value("b") or run.setting("init.defaultbranch")
        if not branch and "q" not in line:
            run.err.append(_DEFAULT_BRANCH)
        bare = "true" if "bare" in line else "false\n\tlogallrefupdates = true"
        for folder in "branches hooks info objects/info objects/pack refs/heads refs/tags".split():
            files.mkdir(f"{git_dir}/{folder}", parents=True)
        texts = {
            "HEAD": f"ref: refs/heads/{branch or 'master'}\n",
            "config": f"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n",
            "description": _DESCRIPTION,
            "info/exclude": _EXCLUDE,
        }
        for name, text in texts.items():
            files.write(f"{git_dir}/{name}", text.encode())
    if "q" not in line:
        done = "Reinitialized existing" if again else "Initialized empty"
        run.say(f"{done} Git repository in {git_dir}/")


def stage(repo: Repository, name: str) -> None:
    """Puts a file of the work tree into the index, or takes one away that is gone."""
    index = repo.library.index
    if not (repo.folder / name).is_file():
        if name in index:
            index.remove(name)
        drop_conflict(index, name)
        return
    index.add(name)
    place = f"{repo.top.rstrip('/')}/{name}"
    if repo.files.lstat(place).kind == "symlink":
        index.add(pygit2.IndexEntry(name, index[name].id, FileMode.LINK))


def save_index(repo: Repository) -> None:
    place = f"{repo.git_dir}/index.lock"
    if repo.files.exists(place):
        raise fatal(_LOCKED.format(place))
    repo.library.index.write()
    repo.written = True


_LOCKED = """Unable to create '{}': File exists.

Another git process seems to be running in this repository, e.g.
an editor opened by 'git commit'. Please make sure all processes
are terminated then try again. If it still fails, a git process
may have crashed in this repository earlier:
remove the file manually to continue."""
_STAGED = FileStatus.INDEX_NEW | FileStatus.INDEX_MODIFIED | FileStatus.INDEX_DELETED


@takes("Aufvn", "all=A update=u force=f verbose=v dry-run=n")
def add(run: GitRun, line: GitLine) -> None:
    repo, given = run.tree, line.words
    if not given and "A" not in line and "u" not in line:
        run.err.append(_EMPTY_ADD)
        return
    paths = Paths(repo, given)
    paths.find(repo)
    flags = repo.library.status("no" if "u" in line else "all", "f" in line or bool(given))
    names: list[str] = []
    ignored = [name.rstrip("/") for name, flag in flags.items() if flag & FileStatus.IGNORED]
    for name, flag in flags.items():
        if flag & FileStatus.IGNORED:
            if "f" in line and name in paths:
                path = repo.folder / name
                below = path.rglob("*") if path.is_dir() else [path]
                names += [str(one.relative_to(repo.folder)) for one in below if one.is_file()]
        elif name in paths and flag & ~_STAGED:
            names.append(name)
    left_out: list[str] = []
    for text in paths.unused:
        name = repo.name_of(text)
        if above := [one for one in ignored if f"{name}/".startswith(f"{one}/")]:
            left_out.append(above[0])
        elif not (repo.folder / name).exists() or set(text) & set("*?["):
            raise fatal(f"pathspec '{text}' did not match any files")
    for name in sorted(names):
        if "v" in line or "n" in line:
            run.say(f"{'add' if (repo.folder / name).exists() else 'remove'} '{name}'")
        if "n" not in line:
            stage(repo, name)
    save_index(repo)
    if left_out and "f" not in line:
        run.fail(_IGNORED.format("".join(f"{name}\n" for name in left_out)), 1)


@takes("rfq", "cached force=f quiet=q")
def remove(run: GitRun, line: GitLine) -> None:
    repo, given = run.tree, line.words
    if not given:
        raise fatal("No pathspec was given. Which files should I remove?")
    index, paths = repo.library.index, Paths(repo, given)
    names = sorted({name for name, _ in entries(index) if name in paths})
    if paths.unused:
        raise fatal(f"pathspec '{paths.unused[0]}' did not match any files")
    for text in given:
        if "r" not in line and (repo.folder / repo.name_of(text)).is_dir():
            raise fatal(f"not removing '{text}' recursively without -r")
    if "f" not in line:
        for name in names:
            flag = repo.library.status_file(name)
            staged, edited = flag & _STAGED, flag & FileStatus.WT_MODIFIED
            if (staged and edited) or ((staged or edited) and "cached" not in line):
                raise not_computed(f"rm of {name}, which has changes")
    for name in names:
        if "q" not in line:
            run.say(f"rm '{name}'")
        drop_conflict(index, name)
        if name in index:
            index.remove(name)
        if "cached" not in line:
            (repo.folder / name).unlink(missing_ok=True)
            prune(repo, name)
    save_index(repo)


@takes("fv", "force=f verbose=v")
def move(run: GitRun, line: GitLine) -> None:
    repo, given = run.tree, line.words
    if len(given) < 2:
        raise not_computed("mv of fewer than two names")
    index, target = repo.library.index, repo.name_of(given[-1])
    known = [name for name, _ in entries(index)]
    into = (repo.folder / target).is_dir()
    for text in given[:-1]:
        source = repo.name_of(text)
        new = f"{target}/{source.rpartition('/')[2]}".lstrip("/") if into else target
        old_path, new_path = repo.folder / source, repo.folder / new
        below = [name for name in known if name == source or name.startswith(f"{source}/")]
        why = ""
        if not old_path.exists():
            why = "bad source"
        elif not below:
            why = "source directory is empty" if old_path.is_dir() else "not under version control"
        elif new_path.exists() and "f" not in line:
            why = "destination exists"
        elif not new_path.parent.is_dir():
            why = "destination directory does not exist"
        if why:
            raise fatal(f"{why}, source={source}, destination={new}")
        if "v" in line:
            run.say(f"Renaming {source} to {new}")
        repo.written = True
        old_path.rename(new_path)
        for name in below:
            entry = index[name]
            index.remove(name)
            index.add(pygit2.IndexEntry(new + name[len(source) :], entry.id, entry.mode))
    save_index(repo)


def prune(repo: Repository, name: str) -> None:
    """Removes the folders that a removed file leaves empty."""
    folder = (repo.folder / name).parent
    while folder != repo.folder and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
