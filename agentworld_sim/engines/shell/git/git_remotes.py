"""The commands of git that name other repositories: this machine has no network."""

from __future__ import annotations

import re

from agentworld_sim.engines.shell.git.git_failure import GitFailure, error, fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitLine, GitRun, takes

_ACCESS = """fatal: Could not read from remote repository.

Please make sure you have the correct access rights
and the repository exists.
"""
_NO_DESTINATION = """No configured push destination.
Either specify the URL from the command-line or configure a remote repository using

    git remote add <name> <url>

and then push using the remote name

    git push <name>
"""
_NO_UPSTREAM = """The current branch {0} has no upstream branch.
To push the current branch and set the remote as upstream, use

    git push --set-upstream {1} {0}

To have this happen automatically for branches without a tracking
upstream, see 'push.autoSetupRemote' in 'git help config'.
"""
_SSH = re.compile(r"ssh://(?:[^@/]*@)?([^:/]+)|(?:[^@:/]*@)?([^@:/]+):(?!//)")
_REACH = (
    "all depth: force=f quiet=q prune=p tags=t set-upstream=u rebase:: no-rebase ff-only ff no-ff verbose=v dry-run=n "
    "delete=d force-with-lease:: no-edit autostash heads mirror"
)


@takes("v", "verbose=v")
def remote(run: GitRun, line: GitLine) -> None:
    verb, *names = line.words or ["list"]
    pattern = re.compile(r"remote\.(.*)\.url")
    pairs = ((pattern.fullmatch(name), value) for name, value in run.repo.settings)
    urls = {match[1]: value for match, value in pairs if match}
    if verb == "list":
        form = "{0}\t{1} (fetch)\n{0}\t{1} (push)\n" if "v" in line else "{}\n"
        run.out += [form.format(*pair) for pair in sorted(urls.items())]
        return
    if len(names) != {"get-url": 1, "remove": 1, "rm": 1, "add": 2, "set-url": 2}.get(verb):
        raise not_computed(f"remote {verb}")
    name, there = names[0], f"refs/remotes/{names[0]}/"
    if (verb == "add") == (name in urls):
        colon = ":" * (verb in ("remove", "rm"))
        no = f"No such remote{colon} '{name}'"
        raise error(*((f"remote {name} already exists.", 3) if verb == "add" else (no, 2)))
    if verb == "get-url":
        run.say(urls[name])
    elif verb in ("add", "set-url"):
        run.set_config(f"remote.{name}.url", names[1])
        if verb == "add":
            run.set_config(f"remote.{name}.fetch", f"+refs/heads/*:{there}*")
    else:
        follow = {
            key[:-7]
            for key, value in run.settings
            if re.match(r"branch\..*\.remote", key) and value == name
        }
        for key in dict.fromkeys(key for key, _ in run.settings):
            head, _, last = key.rpartition(".")
            if head == f"remote.{name}" or (head in follow and last in ("remote", "merge")):
                run.set_config(key, None)
        for full in run.repo.refs(there):
            run.repo.drop_ref(full)


@takes("fqptunvda", _REACH)
def reach(run: GitRun, line: GitLine) -> None:
    """`fetch`, `pull`, `push`, `ls-remote`."""
    branch, words = run.repo.branch or "", line.words
    upstream = run.setting(f"branch.{branch}.remote")
    target = words[0] if words else upstream or "origin"
    url = run.setting(f"remote.{target}.url")
    if (
        run.command == "push"
        and branch
        and len(words) < 2
        and not {"t", "all", "mirror"} & {name for name, _ in line.options}
    ):
        if not url and not words:
            raise fatal(_NO_DESTINATION)
        # To another remote than the usual one, a branch goes under its own name.
        elsewhere = target != "origin" and run.setting("remote.origin.url")
        if not upstream and not elsewhere:
            raise fatal(_NO_UPSTREAM.format(branch, target))
    if not url and not words:
        if run.command == "pull":
            raise not_computed("pull of a branch that follows none")
        if run.command == "ls-remote":
            raise fatal("No remote configured to list refs from.")
        return
    try:
        _fail_to_reach(run, url or target)
    except GitFailure as failure:
        failure.exit_code = 1 if run.command == "pull" else 128
        raise


def _fail_to_reach(run: GitRun, url: str) -> None:
    if match := re.match(r"(https?://)(?:[^/@]*@)?(([^/:]+).*?)/?$", url):
        address = f"{match[1]}{match[2]}/"
        raise fatal(f"unable to access '{address}': Could not resolve host: {match[3]}")
    if match := _SSH.match(url):
        why = "Temporary failure in name resolution\r\n"
        raise GitFailure(f"ssh: Could not resolve hostname {match[1] or match[2]}: {why}{_ACCESS}")
    if "://" in url:
        raise not_computed(f"{run.command} of {url}")
    if run.call.files.exists(run.path(url)):
        raise not_computed(f"{run.command} of a folder")
    if run.command == "clone":
        raise fatal(f"repository '{url}' does not exist")
    raise GitFailure(f"fatal: '{url}' does not appear to be a git repository\n{_ACCESS}")


@takes(
    "b:qn", "branch=b depth: quiet=q single-branch recurse-submodules no-checkout=n bare filter:"
)
def clone(run: GitRun, line: GitLine) -> None:
    if not line.words or len(line.words) > 2:
        raise not_computed("clone with such arguments")
    url, files = line.words[0], run.call.files
    name = re.sub(r"(/?\.git)?/*$", "", url)
    folder = (*line.words, re.split("[/:]", name)[-1])[1]
    place = run.path(folder)
    if "://" in url or _SSH.match(url):
        if files.exists(place) and (
            files.stat(place).kind != "directory" or any(files.listdir(place))
        ):
            raise fatal(
                f"destination path '{folder}' already exists and is not an empty directory."
            )
        if "q" not in line:
            run.complain(f"Cloning into '{folder}'...")
    _fail_to_reach(run, url)
