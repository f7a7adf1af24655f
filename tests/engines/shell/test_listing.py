"""`ls`, `stat`, `du` and `find` print what the real ones print."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.engines.shell.commands._tool import quote_for_message, quote_for_shell
from tests.engines.shell.conftest import MakeMachine
from tests.engines.shell.real_tools import ENVIRONMENT, assert_same_story, real_output
from tests.properties import examples

LS = (
    'mkdir d d/e; echo 1 > a; echo 12345 > b.txt; echo > d/x; ln -s a l; ln -s nope broken; echo > .h',
    'mkdir dd && echo > dd/z10 && echo > dd/z9 && echo > dd/B && echo > \'dd/a b\' && echo > dd/y.c && echo > dd/x.o && echo > "dd/it\'s" && echo > dd/é',
    'ls',
    'ls -F',
    'ls -R',
    'ls d a',
    'ls nope a d',
    'ls -lad .',
    'ls -s',
    'ls -sh a d',
    'ls -p',
    'ls --color=always',
    'ls -l --color=always',
    'ls -a -1 --group-directories-first',
    'ls -lR d',
    "ls -I '*.txt'",
    'ls l/',
    'ls -l d/',
    'ls -L broken',
    'ls -lL broken l',
    'ls -o a',
    'ls -g a',
    'ls -G -l a',
    'ls -N dd',
    'ls -1F --file-type',
    'ls a/',
    "ls ''",
    'ls -R d a',
    'ls -X dd',
    'ls -r dd',
    'ls --color=x',
    'ls -l --time-style=foo',
    'ls --time-style=+%Y -l a',
    'ls --bogus',
    'ls -@',
    'ls --re',
    'ls -l --full-time nope',
    'ls -lh --si',
    'ls -ln',
    'ls -S',
    'ls -Sr',
    'ls -d */',
    'ls *.txt d/*',
    'ls -A',
    'ls -ad .h',
    'ls -f dd | sort',
    'ls | cat',
    'ls -lk a',
    'ls nope a &> both; cat both',
    'ls -la nope 2>&1 | head -1',
    'LC_ALL=C ls nope',
    'ls --colo=auto -1 d',
)  # fmt: skip

FIND = (
    "mkdir -p a/b c; echo x > a/1.py; echo yy > a/b/2.py; touch e; ln -s e l; ln -s nope br; touch -d '2024-01-01' old; touch -d '2 hours ago' rec; chmod 600 e",
    'find nope',
    'find . -name',
    'find . -bogus',
    'find . -type q',
    'find . -size x',
    'find -name a -o',
    'find . \\( -name a',
    'find . -name a \\)',
    'find . ! ',
    'find . -newer nope',
    'find . -maxdepth x',
    'find . -exec echo',
    'find . -mtime x',
    'find . -perm 999',
    'find -version | head -1',
    'find . -user nouser',
    "find e -printf '%p %q\\n'",
    'find . -printf',
    'find . -regextype foo -regex x',
    'find . -name a -maxdepth 1',
    'find . -size +1k -o',
    'find e -exec nosuch {} \\;',
    'find . -exec false {} \\; -print',
    'find . -exec false {} +; echo $?',
    'find . -and',
    'find . -a -name x',
    'find . -mindepth -1',
    'find . -newermt foo',
    'find . -quit',
    "find . -name 'a' bar",
    "find . -printf '%y %m %M %f %h %P %d %u %g %U %G %l %Y|%%\\n' | sort",
    "find . -printf '%10p|%-10p|\\t\\101\\n' | sort",
    "find . -path './a' -prune -o -print | sort",
    "find . -regex '.*a' | sort",
    "find . -regex '.*\\(py\\|e\\)' | sort",
    "find . -regextype posix-extended -regex '.*(py|e)' | sort",
    'find . -iname A',
    'find . -size 0 | sort',
    'find . -size +0 -type f| sort',
    'find a -depth | tail -1',
    'find . -execdir echo {} \\; | sort',
    'find e -print0 | od -c | head -2',
    "find . -not -name '*.py' | sort",
    "find . -type l -lname 'n*'",
    'find . -nouser',
    "find ''",
    'find . -maxdepth 1 -exec echo x{}y {} \\; | sort',
    'find . -mtime +30',
    'find . -mmin -60 -type f | sort',
    'find . -mmin +60 -type f | sort',
    'find . -mtime -1 -name rec',
    "find . -newermt '1 hour ago' -type f | sort",
    "find . -newermt 2025-01-01 ! -newermt '1 hour ago'",
    'find . -perm 600',
    'find . -perm -u+r -type f | sort',
    'find . -perm /111 -type f',
    'find . -xtype l',
    'find . -type l,d | sort',
    'find . -empty | sort',
    "find . -name '*.py' -exec wc -l {} + | sort",
    "find . -name '*.py' -exec grep -l x {} \\;",
    "find . -name '*.py' | xargs wc -l | tail -1",
    "find . -type f -name '*.py' -exec sh -c 'echo got $1' _ {} \\; | sort",
    "X=5 find e -exec sh -c 'echo $X' \\;",
    "find e -ls | awk '{print $3,$5,$NF}'",
    'find . -L',
    'find -L l -type f',
    "find a -name '*.py' -delete -print | sort; find a | sort",
    'find a -delete; ls',
    "find . -name '[a-c]' | sort",
    "find . -name '[!a-c]' | sort",
    'find . -maxdepth 0',
    'find / -maxdepth 1 -name srv',
    'find c e -maxdepth 0',
    'find . nope 2>&1 | head -1',
    'find c -type d -exec touch {}/new \\; ; ls c',
    'find . -false -o -name e',
    'find . \\( -name e -o -name l \\) -a -type f',
    'find . -type f -exec basename {} \\; | sort',
    'find c -mindepth 1 | sort',
    "find ./c -name '*ew*'",
)  # fmt: skip

DU = (
    'mkdir -p a/b c; head -c 5000 /dev/zero > a/big; echo x > a/b/s; ln -s a l',
    'du',
    'du -s',
    'du -sh a c',
    'du -a a',
    'du -c a c',
    'du -d 1',
    'du -k a',
    'du -b a',
    'du -sb .',
    'du -h --max-depth=1',
    'du nope',
    'du -d x',
    'du -as',
    'du -s -d 2',
    'du -h a/big',
    'du --apparent-size -k a',
    'du -sm a',
    "du --exclude='b' a",
    'du l',
)  # fmt: skip

STAT = (
    "touch -d '2024-01-02 03:04:05.678' f; printf abc > g; touch -d @1700000000 g; mkdir -m 1777 d; ln -s g l; mkfifo p 2>/dev/null || touch p; chmod 4755 g",
    "stat -c '%a %A %F %n %s' f g d l",
    'stat -c \'%N\' l f "it\'s"',
    'stat -c %y f',
    "stat -c '%Y %X' g",
    "stat -c '%.3Y|%.0Y|%12Y|%-12Y|' f",
    "stat -c '%U:%G %u:%g' f",
    "stat -c '%04a|%#a|%10s|%-10s|%010s' g",
    "stat --printf='%n\\t%s\\n\\101\\x42\\n' g",
    "stat -c '%q %% %' g",
    'stat -L -c %F l',
    'stat nope',
    'stat',
    'stat -c',
    'stat --format=%s nope g',
    "stat -c '%F' .",
    "stat -t f | cut -d' ' -f1,2",
    "stat f | sed -n '1p;4p'",
    "stat -c '%f' f d l",
    "stat -c '%b %B %o' g",
    'stat --bogus f',
)  # fmt: skip


@pytest.mark.parametrize("story", [LS, STAT], ids=["ls", "stat"])
def test_listings_are_the_real_ones(tmp_path: Path, story: tuple[str, ...]) -> None:
    assert_same_story(tmp_path, story)


@pytest.mark.parametrize("story", [FIND, DU], ids=["find", "du"])
def test_walks_are_the_real_ones_but_for_the_order_on_disk(
    tmp_path: Path, story: tuple[str, ...]
) -> None:
    assert_same_story(tmp_path, story, unordered=True)


# A name holds any character but the separator, the terminator and lone halves of surrogate pairs.
NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=("Cs", "Cn", "Co")), min_size=1
).filter(lambda name: name not in (".", "..", "-") and len(name.encode()) < 200)
PLAIN_NAMES = st.text("ab '\"\\\n\t$!~#{}=é\x01", min_size=1, max_size=6)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=NAMES | PLAIN_NAMES)
def test_names_in_messages_are_quoted_as_gnu_quotes_them(tmp_path: Path, name: str) -> None:
    always, needed = quote_for_shell(name, always=True), quote_for_shell(name)
    curly = quote_for_message("no/" + name, ENVIRONMENT)
    reason = "No such file or directory\n"

    assert real_output(tmp_path, "rm", "--", name) == f"rm: cannot remove {always}: {reason}"
    assert real_output(tmp_path, "cat", "--", name) == f"cat: {needed}: {reason}"
    assert real_output(tmp_path, "mkdir", "--", "no/" + name) == (
        f"mkdir: cannot create directory {curly}: {reason}"
    )


def test_old_files_show_the_year_and_young_ones_the_hour(make_machine: MakeMachine) -> None:
    shell = make_machine()
    shell.run("mkdir /t; cd /t; touch now; touch -d '2025-08-31 10:00' old; touch -d '+1 day' new")
    shell.run("touch -d '2025-09-02 10:00' young")

    assert shell.out("ls -l --time-style=locale | tail -n +2 | cut -c24-") == (
        "0 Mar  3  2026 new\n0 Mar  2 09:00 now\n0 Aug 31  2025 old\n0 Sep  2 10:00 young\n"
    )


def test_find_reckons_with_the_clock_of_the_world(make_machine: MakeMachine) -> None:
    shell = make_machine()
    shell.run("mkdir /t; cd /t; touch a; touch -d '3 days ago' b; touch -d '10 minutes ago' c")

    assert shell.out("find . -type f -mtime -1 | sort") == "./a\n./c\n"
    assert shell.out("find . -type f -mtime +1") == "./b\n"
    assert shell.out("find . -type f -mmin -5") == "./a\n"
    assert shell.out("find . -newermt '1 hour ago' -type f | sort") == "./a\n./c\n"


def test_listings_show_owners_that_the_file_system_beneath_does_not_keep(
    make_machine: MakeMachine,
) -> None:
    shell = make_machine()
    shell.run("cd /tmp; touch f; chown daemon:mail f; mv f g; chgrp 4242 g")

    assert shell.out("ls -l g | cut -d' ' -f3,4; stat -c %U:%G g; find . -user daemon") == (
        "daemon 4242\ndaemon:UNKNOWN\n./g\n"
    )


def test_errors_and_output_keep_their_order_where_both_go_one_way(tmp_path: Path) -> None:
    assert_same_story(
        tmp_path,
        (
            "touch a; mkdir d",
            "ls nope a 2>&1",
            "cp -v a nope/x d 2>&1; ls d",
            "find a nope 2>&1",
            "stat -c %n a nope a 2>&1",
            "ls nope a &> both; cat both",
        ),
    )
