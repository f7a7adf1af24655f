"""Commands that make, move, change and remove files answer as the real ones do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.engines.shell.commands._formats import apply_mode, is_mode
from tests.engines.shell.conftest import MakeMachine
from tests.engines.shell.real_tools import assert_same_story, real_output
from tests.properties import examples

FILES = (
    "cp -v a b",
    "echo x>a; cp -v a b",
    "mkdir d; cp a d/",
    "cp -rv d e",
    "cp d f",
    "cp a nodir/x",
    "cp a nodir/",
    "cp nope x",
    "cp a a",
    # What was copied before the folder met itself follows the order on the disk.
    "cp -r d d; rm -rf d/d; mkdir d/d; touch d/d/a",
    # How far it comes depends on the order of the directory's entries.
    "cp -r d d/sub; rm -r d/sub; mkdir d/sub",
    "cp a b d nope",
    "cp a b",
    "cp -n a b; echo $?",
    "cp -i a b < /dev/null; echo",
    "cp -u -v a b",
    "mv -v a a2",
    "mv a2 nodir/x",
    "mv nope x",
    "mv a2 a2",
    "mv d d/sub",
    "mv a2 b d",
    "touch f; mv d f",
    "mkdir g g/d; touch g/d/x; mv d g; mv f g",
    "ls -R",
    "mv g/f g/d",
    "touch d; mv g/d d",
    "mkdir h; mv h g/d/a2",
    "cp -r g d",
    "cp -T g h; cp -rT g h; ls h",
    "rm g",
    "rm -i g < /dev/null",
    "rm -r .",
    "rm -r ..",
    "rm -rf /",
    "rm -rf nope; rm -r nope",
    "rm ''",
    "rm -d g",
    "rmdir g",
    "rmdir nope",
    "rmdir -p x/y",
    "mkdir -p x/y; rmdir -pv x/y",
    "mkdir -p q/r; rmdir -p --ignore-fail-on-non-empty q/r/; ls",
    "mkdir a/b",
    "mkdir -v n1 n2",
    "mkdir -p n1/a/b -v",
    "mkdir n1",
    "touch F; mkdir -p F/x",
    "mkdir F/x",
    "mkdir -m 700 -v m7; stat -c %a m7",
    "mkdir -pm 700 z/y; stat -c %a z z/y",
    "ln -s F L; ln -s F L",
    "ln -sfv F L",
    "ln F H",
    "ln nope N",
    "ln -s nope N; cat N",
    "ln n1 n2/x",
    "ln -s F n1/; ls -l --time-style=+ n1",
    "ln -sv a b c n1",
    "ln -s a b nope",
    "ln -sr n1/a/b R; readlink R",
    "ln -v F H2",
    "ln -sn n1 n2; readlink n2/n1",
    "ln -st n2 F; ls n2",
    "ln -sfn F L; ln -s -T F L",
    "cp -P L L2; readlink L2",
    "cp -d L L3; cp L L4; readlink L4; echo $?",
    "rm H; cp F H",
    "cp -rL n1 nl 2>&1 | sort; ls -l --time-style=+ nl",
    "cp n1 n2 x",
    "unlink nope",
    "unlink n1",
    "unlink F; ls F",
    "touch nodir/x",
    "touch -c qq; ls qq",
    "touch n1 ",
    "chmod 644 nope",
    "chmod -v +x H",
    "chmod -v +x H",
    "chmod -c g+w H",
    "chmod g-w H -f nope; echo $?",
    "chmod u+z H",
    "chmod 888 H",
    "chmod +x",
    "chmod --reference=nope H",
    "chown root:nogrp H",
    "chown root:root H",
    "chown nobody H; ls -l --time-style=+ H",
    "chown root: H; ls -l --time-style=+ H",
    "chown :daemon H; ls -l --time-style=+ H",
    "chown 1234:5678 H; ls -l --time-style=+ H",
    "chgrp root H; ls -l --time-style=+ H",
    "chown root nope",
    "chown root H",
    "chown --reference=H n1; ls -ld --time-style=+ n1",
    "chown a:b:c H",
)

ATTRIBUTES = (
    "touch a; chmod -v +x a b",
    "chmod -x-w a",
    "chmod -- -x a",
    "chmod -rwx a; ls -l --time-style=+ a",
    "chmod -w+x a",
    "chmod -R -v 700 nope",
    "ln -s nope dang; chmod 644 dang",
    "chown root dang",
    "chown -h root dang",
    "chown",
    "chown -R",
    "chown 12: a",
    "chmod 0644 -- a -v",
    "touch -t 202401010000.30 x; ls -l --time-style=full-iso x",
    "touch -t 2401010000 x; ls -l --time-style=full-iso x",
    "touch -t 01010000 x; ls -l --time-style=+%m x",
    "touch -t 13010000 x",
    "touch -r x y; stat -c %y y",
    "touch -r nope y",
    "touch -d 2024-01-01 -r x y; stat -c %y y",
    "touch -d '2024-01-01 +1 day' z; stat -c %y z",
    "touch -r x -d '+1 day' z; stat -c %y z",
    "touch -m -d @5.25 z; stat -c %y z",
    "touch -h dang; ls dang",
    "touch dang; ls nope",
    "touch x/y",
    "touch ''",
    "touch -d '' z",
    "touch nodir/; touch a/",
    "truncate -s 10 t; stat -c %s t",
    "truncate -s +5 t; stat -c %s t",
    "truncate -s -3 t; stat -c %s t",
    "truncate -s '<5' t; stat -c %s t",
    "truncate -s '>50' t; stat -c %s t",
    "truncate -s /8 t; stat -c %s t",
    "truncate -s %30 t; stat -c %s t",
    "truncate -s 1K t; stat -c %s t",
    "truncate -s 1KB t; stat -c %s t",
    "truncate -r x t; stat -c %s t",
    "truncate -c -s 5 nope; ls nope",
    "touch -d 1999-12-31T23:59:59Z q; stat -c %y q",
    "touch 0101000099 q2; ls 0*",
)

UMASK = (
    "umask 077; echo x > a; touch b; mkdir d; cp a c; umask 022; echo y > e; stat -c '%a %n' *",
    "(umask 077; echo s > s1; touch s2; umask); umask; echo t > s3; touch s4; stat -c '%a %n' s*",
    "umask 027 && echo q > q; chmod 644 q; ls -l q | cut -c1-10; stat -c %a q",
    "umask; umask -S; umask -p",
    "umask 999; echo $?",
    "umask u=rwx,g=rx,o=; echo z > z; stat -c %a z; umask",
    "umask 077; echo hi > s3; stat -c %a s3",
    "x=$(umask 077; mktemp -u; umask); umask",
    "umask 002; echo g > g; install -m 600 g h; stat -c %a g h; mv g i; stat -c %a i",
    "f() { umask 077; }; f; echo j > j; stat -c %a j; find . -perm 600 | sort",
    "ls -l z s1 | cut -c1-10",
)

INSTALL = (
    "echo x > f; install -m 640 f g; stat -c '%a %n' g",
    "install -d -m 711 p/q; stat -c '%a %n' p p/q",
    "install -D f deep/er/f; find deep | sort",
    "install -v f h",
    "install nope x",
    "install -d f 2>&1 | head -c 0; install f p; ls p",
    "install -t p f g; ls p",
    "cp -a p pa; ls pa",
    "cp -p f fp; test f -nt fp; echo $?",
    "cp --preserve f fm; test f -nt fm; echo $?",
    "cp -T f g; cp -T f p",
    "mv -n g h; ls g",
    "mv -t p g h; ls p",
    "mv --bogus a b",
    "cp -u p/g p/h",
    "rm -rf p; ls",
)


@pytest.mark.parametrize(
    "story", [FILES, ATTRIBUTES, UMASK, INSTALL], ids=["files", "attributes", "umask", "install"]
)
def test_file_commands_are_the_real_ones(tmp_path: Path, story: tuple[str, ...]) -> None:
    assert_same_story(tmp_path, story)


def test_recursive_messages_are_the_real_ones_but_for_the_order_on_disk(tmp_path: Path) -> None:
    story = (
        "mkdir -p d/s; touch d/a d/s/b; ln -s a d/l",
        "chmod -Rv u=rwX,go= d",
        "chmod -Rc o+r d",
        "cp -rv d e",
        "cp -av d f | wc -l",
        "rm -rv e",
        "chown -R nobody:daemon d",
        "ls -lR --time-style=+ d | cut -d' ' -f1,3,4,6-",
        "chgrp -R root d; ls -l --time-style=+ d | sort",
    )
    assert_same_story(tmp_path, story, unordered=True)


ACTIONS = st.builds(
    str.__add__,
    st.sampled_from("+-="),
    st.sampled_from("ugo") | st.text("rwxXst", max_size=3),
)
CLAUSES = st.builds(
    str.__add__,
    st.text("ugoa", max_size=2),
    st.lists(ACTIONS, min_size=1, max_size=2).map("".join),
)
MODES = st.lists(CLAUSES, min_size=1, max_size=2).map(",".join) | st.text(
    "01234567", min_size=1, max_size=5
)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(mode=MODES, old=st.integers(0, 0o7777), folder=st.booleans())
def test_modes_are_read_as_the_real_chmod_reads_them(
    tmp_path: Path, mode: str, old: int, folder: bool
) -> None:
    target = tmp_path / ("folder" if folder else "file")
    if folder:
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    target.chmod(old)
    before = os.umask(0o022)
    try:
        said = real_output(tmp_path, "chmod", "--", mode, target.name)
    finally:
        os.umask(before)

    assert ("invalid mode" in said) != is_mode(mode)
    if is_mode(mode):
        assert apply_mode(mode, old, directory=folder) == target.stat().st_mode & 0o7777


def test_owners_move_with_their_files_and_die_with_them(make_machine: MakeMachine) -> None:
    shell = make_machine()
    shell.run("cd /tmp; mkdir d; touch d/f; chown -R daemon:mail d; mv d e")

    assert shell.out("stat -c %U:%G e e/f") == "daemon:mail\ndaemon:mail\n"
    assert shell.out("cp -r e c; cp -a e a; stat -c %U c/f a/f") == "root\ndaemon\n"
    assert shell.out("rm -r e; mkdir e; stat -c %U e") == "root\n"


def test_hard_links_are_copies(make_machine: MakeMachine) -> None:
    shell = make_machine()

    # The one place where `ln` is not the real one: the file system beneath has no hard links.
    assert shell.out("cd /tmp; echo a > a; ln a b; echo c >> b; cat a; stat -c %h a") == "a\n1\n"


def test_a_moment_given_to_touch_is_kept_and_now_is_the_worlds(make_machine: MakeMachine) -> None:
    shell = make_machine()

    assert (
        shell.out("cd /tmp; touch -d '2024-02-28 +2 days' a; touch b; stat -c %y a b")
        == "2024-03-01 00:00:00.000000000 +0000\n2026-03-02 09:00:00.000000000 +0000\n"
    )
    assert shell.out("stat -c %y a") == "2024-03-01 00:00:00.000000000 +0000\n"


def test_colour_does_not_fail(make_machine: MakeMachine) -> None:
    shell = make_machine()

    assert shell.out("cd /tmp; mkdir d; touch f; ls --color; TERM=xterm ls --color=always") == (
        "\x1b[0m\x1b[01;34md\x1b[0m\nf\n" * 2
    )


def test_programs_named_by_their_path_are_ours_too(make_machine: MakeMachine) -> None:
    shell = make_machine()

    assert shell.out("cd /tmp; touch f; /bin/ls -l --time-style=+%Y f; /usr/bin/stat -c %U f") == (
        "-rw-r--r-- 1 root root 0 2026 f\nroot\n"
    )
