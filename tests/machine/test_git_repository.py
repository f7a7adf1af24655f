"""The `.git` folder of a world is a real repository, and git reaches nothing outside of the world."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.imagining import ImaginedWorld

START = (
    "git config --global user.name Ada; git config --global user.email ada@example.com; "
    "mkdir -p /srv/r; cd /srv/r; git init -q -b main; echo one > a; mkdir d; echo two > d/b; ln -s a l; "
    "printf '#!/bin/sh\\n' > run; chmod +x run; git add .; git commit -qm First; "
)


@pytest.fixture
def shell() -> Iterator[MachineShell]:
    made = MachineShell(Machine())
    made.out(START)
    yield made
    made.live.close()


def export(shell: MachineShell, folder: str, target: Path) -> None:
    """Writes a folder of the world to the host."""
    files = shell.live.files
    for path, info in files.walk(folder):
        place = target / path[len(folder) + 1 :]
        if info.kind == "directory":
            place.mkdir(exist_ok=True)
        elif info.kind == "symlink":
            place.symlink_to(files.readlink(path))
        else:
            place.write_bytes(files.read(path))
            place.chmod(info.mode)


def host_git(folder: Path, *words: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def take_in(shell: MachineShell, source: Path, folder: str) -> None:
    """Writes a folder of the host into the world."""
    shell.live.start_turn(shell.clock_us, shell.seed)
    for path in sorted(source.rglob("*")):
        place = f"{folder}/{path.relative_to(source)}"
        if path.is_dir():
            shell.live.files.mkdir(place, parents=True)
        else:
            shell.live.files.mkdir(place.rpartition("/")[0], parents=True)
            shell.live.files.write(place, path.read_bytes())
    shell.live.collect(shell.blobs)


def test_the_real_git_accepts_the_repository(shell: MachineShell, tmp_path: Path) -> None:
    shell.out(
        "git checkout -q -b other; echo 2 >> a; git commit -qam Other; git checkout -q main; echo 3 > c; git add c"
    )
    shell.out(
        "git commit -qm Third; git merge -q --no-ff -m Join other; git revert -m 1 HEAD > rest; git cherry-pick -x other >> rest; rm rest; "
        "echo 4 >> a; git stash -q; git tag -a v1 -m One; rm d/b"
    )
    export(shell, "/srv/r", tmp_path)
    assert host_git(tmp_path, "fsck", "--strict", "--no-dangling") == ""
    assert host_git(tmp_path, "status", "--porcelain") == " D d/b\n"
    assert host_git(tmp_path, "log", "--oneline").count("\n") == 6
    assert host_git(tmp_path, "stash", "list").startswith("stash@{0}: WIP on main")
    assert host_git(tmp_path, "reflog") == shell.out("git reflog")


def test_a_packed_clone_has_its_history(shell: MachineShell, tmp_path: Path) -> None:
    source = tmp_path / "r"
    source.mkdir()
    script = "git init -q -b main; for i in $(seq 30); do seq $i > f; git add f; git -c user.name=a -c user.email=b commit -qm $i; done; git gc -q"
    subprocess.run(["bash", "-c", script], cwd=source, check=True)
    take_in(shell, source, "/srv/clone")
    assert (
        shell.out(
            "cd /srv/clone; git log --oneline | wc -l; git show HEAD~20:f | tail -1; git status -s"
        )
        == "30\n10\n"
    )
    host = host_git(source, "log", "-p", "--stat")
    assert shell.out("cd /srv/clone; git log -p --stat") == host


def test_a_world_taken_up_again_says_the_same(shell: MachineShell) -> None:
    other = MachineShell(Machine())
    other.blobs = shell.blobs
    other.live.materialise(shell.live.files.tree, shell.blobs)
    other.session, other.clock_us = shell.session, shell.clock_us
    script = (
        "echo x >> a; git status -s; git commit -qam X; git log -1; git reflog; sha1sum .git/index"
    )
    assert other.run(script) == shell.run(script)
    other.live.close()


def test_no_setting_of_a_world_names_a_file_of_the_host(
    shell: MachineShell, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("[user]\n\tname = Host\n[secret]\n\tword = leaked\n*.py\n")
    shell.out(
        f'printf \'[include]\\n\\tpath = {secret}\\n[IncludeIf "gitdir:/"]\\n\\tpath = {secret}\\n[core]\\n\\texcludesFile = {secret}\\n'
        f"\\tworktree = {tmp_path}\\n\\tattributesFile = {secret}\\n\\thooksPath = {tmp_path}\\n' >> .git/config; touch x.py; "
        f"mkdir -p .git/objects/info; echo {tmp_path} > .git/objects/info/alternates; printf '#!/bin/sh\\ntouch {tmp_path}/ran\\n' > .git/hooks/pre-commit"
    )
    assert "leaked" not in shell.run("git config --list").stdout
    assert shell.out("git config user.name; git status -s") == "Ada\n?? x.py\n"
    shell.out(
        "git config user.email local@example.com; grep -c '^.include' .git/config; git add .; git commit -qm Second; git checkout -q HEAD~1"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]


def test_no_link_leads_out_of_the_copy(shell: MachineShell, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    shell.out(
        f"ln -s {tmp_path} out; ln -s /etc etc; git add .; git commit -qm Links; git stash -q || true"
    )
    assert shell.out("git show HEAD:out") == str(tmp_path)
    assert "secret" not in shell.run("git add out/secret; git status; git diff HEAD~1").stdout
    shell.run("git checkout -q HEAD~1; git checkout -q main")
    assert shell.out("readlink out; readlink l") == f"{tmp_path}\na\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]


def test_a_git_file_that_points_elsewhere_is_refused(shell: MachineShell, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    with pytest.raises(EngineFailure, match="work tree whose /srv/x"):
        shell.run(f"mkdir /srv/x; cd /srv/x; echo 'gitdir: {tmp_path}/.git' > .git; git status")


def test_damage_is_told(shell: MachineShell) -> None:
    blob = shell.out("git rev-parse HEAD:a").strip()
    shell.out(
        f"chmod +w .git/objects/{blob[:2]}/{blob[2:]}; echo junk > .git/objects/{blob[:2]}/{blob[2:]}"
    )
    assert shell.fails("git show HEAD:a") == ("fatal: bad object HEAD:a\n", 128)
    said = f"fatal: loose object {blob} (stored in .git/objects/{blob[:2]}/{blob[2:]}) is corrupt\n"
    assert shell.run("git checkout HEAD -- a").stderr == said
    shell.out("echo junk > .git/index")
    said, code = shell.fails("git status")
    assert ("fatal: " in said, code) == (True, 128)
    shell.out("rm .git/index .git/HEAD")
    assert shell.fails("git status") == (
        "fatal: not a git repository (or any of the parent directories): .git\n",
        128,
    )


def test_names_and_sizes_that_are_unusual(shell: MachineShell) -> None:
    shell.out(
        "cd /srv/r; echo 1 > 'two words'; echo 2 > '-dash'; echo 3 > 'ü\"q'; head -c 3000000 /dev/zero > big; git add .; git commit -qm Odd"
    )
    assert (
        shell.out("git status -s; git ls-files | sort | head -3") == '"\\303\\274\\"q"\n-dash\na\n'
    )
    shell.out(
        "printf '<<<<<<< a\\n=======\\n>>>>>>> b\\n' > markers; git add markers; git commit -qm Markers; git rm -q big"
    )
    assert shell.out("git show --stat --format=%s; git diff --cached --stat") == (
        "Markers\n\n markers | 3 +++\n 1 file changed, 3 insertions(+)\n"
        " big | Bin 3000000 -> 0 bytes\n 1 file changed, 0 insertions(+), 0 deletions(-)\n"
    )


async def test_a_program_may_call_what_git_does_not_compute() -> None:
    run = "import subprocess; print(subprocess.run(['git', 'bisect', 'log'], capture_output=True, text=True).stdout)"
    async with await ImaginedWorld.create() as here:
        assert await here.out(f'python3 -c "{run}"') == "<git bisect log|>\n\n"


@pytest.mark.parametrize("url", ["git://example.com/p", "file:///srv/r"])
def test_an_address_that_is_not_looked_into_is_no_missing_repository(
    shell: MachineShell, url: str
) -> None:
    with pytest.raises(EngineFailure, match="does not compute: git clone of"):
        shell.out(f"git clone {url} /tmp/p")


@pytest.mark.parametrize(
    "url", ["ssh://example.com/p", "ssh://me@example.com:22/p", "example.com:p"]
)
def test_the_host_of_an_address_cannot_be_resolved(shell: MachineShell, url: str) -> None:
    said = shell.run(f"git clone {url} /tmp/p").stderr
    assert said.startswith("Cloning into '/tmp/p'...\nssh: Could not resolve hostname example.com:")
