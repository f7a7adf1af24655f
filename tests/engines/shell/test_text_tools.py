"""Tools for text, differences, numbers and archives answer as the real ones do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.engines.shell.line_differences import changes
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.real_tools import RealMachine, SimulatedMachine, assert_same_story
from tests.properties import examples

LESSER = (
    "printf 'b\na\n' > f; seq 30 > s; mkdir -p d/sub; echo one > d/one; echo two > d/sub/two; ln -s one d/l",
    "tar -cf x.tar --transform 's/^\\.\\///' -C d . ; tar tf x.tar | sort",
    "tar -cf x.tar --transform 's,^,pre/,;s,one,1,' d; tar tvf x.tar | awk '{print $6,$7,$8}' | sort",
    "mkdir out; tar xf x.tar --xform 's,pre/d,q,' -C out; find out | sort; rm -r out x.tar",
    "tar -cf x.tar --transform 'bogus' d; echo $?; rm -f x.tar",
    "chmod 640 d/one; chmod 777 d/sub; mkdir out; tar cf - d | (umask 077; tar xpf - -C out); stat -c '%a %n' out/d/*; rm -r out",
    "split -l 5 -a 3 s p; ls p*; cat paac; rm p*",
    "seq 30 | split -a 1 -l 5; ls x?; rm x?",
    "seq 30 | split -l 5 -d --suffix-length=3; ls x*; rm x*",
    "seq 30 | split -l 1 -a 1; ls; rm x?",
    "split -a 4 -b 20 s part.; ls; rm part*",
    "split -a x s; split -a 3 nope; echo $?",
    "column -c 80 s; column -c 20 s; column -x -c 20 s; column -c 60 f s",
    r"printf '\x00\xff\\x00%s\x4a\n' q | od -An -tx1; printf '\x00\xc3\xa9' > n; wc -c < n",
    "printf 'a bc\nddddddddddd\n\nx\n' | column -c 30; column -t f",
    "yes '' | head -3; yes a b | head -2; yes | head -1",
    "md5sum d f; echo $?; sha256sum d f nope d; b2sum < f",
    "find . -name one -o -type d | sort | xargs md5sum",
    "sha1sum f s | sha1sum -c; md5sum --bogus f",
    "command -v -- ls; command -v cd nosuch ls; echo $?; command -V nosuch; command -v nosuch; echo $?",
    "type cd nosuch ls; echo $?; type -t nosuch cd; hash nosuch ls; echo $?; logout; echo $?",
    "printf '\\0\\0\\200\\077\\0\\0\\0\\100' | od -t fF; printf abcdefgh12345678 | od -An -t fD; od -A n -tf4 -v f",
    "join nope f; join f nope; echo $?; join f f; join - f < f",
    "file nope; file ./nope f; file -b f; echo $?",
)


@pytest.mark.parametrize("command", ["touch", "mkdir", "cp /etc/hosts"])
def test_names_with_control_characters_are_refused(
    machine_shell: MachineShell, command: str
) -> None:
    said, code = machine_shell.fails(f"{command} $'Icon\\r'")
    assert (said.endswith("Invalid argument\n"), code) == (True, 1)


DIFF = (
    "printf 'a\nb\nc\n' > a; printf 'a\nB\nc\nd' > b; mkdir x y x/s y/s; echo 1 > x/f; echo 2 > y/f; echo o > x/only; echo s > y/s/n; mkdir y/dd; touch -d '2024-01-01' a b; touch -d 2024-02-01 x/* y/*; ln -s f x/l",
    "diff a b",
    "diff -u a b",
    "diff -c a b",
    "diff -q a b",
    "diff -s a a",
    "diff x y",
    "diff -r x y",
    "diff -rN x y",
    "diff -ruN x y | grep -v '^[-+][-+][-+]'",
    "diff -rq x y",
    "diff a",
    "diff",
    "diff a nope",
    "diff nope nope2",
    "diff a x",
    "diff x a",
    "diff --bogus a b",
    "diff -U x a b",
    "diff -U1 a b",
    "diff -u0 a b",
    "diff - a < b",
    "diff a b c",
    "diff -uN a nope",
    "diff -i a b",
    "diff --normal a b",
    "diff --strip-trailing-cr a b",
    "diff -x f -r x y",
    "diff -B a b",
    "printf 'x\\0y' > bin; diff a bin",
    "diff -a a bin",
    "diff -q bin a; diff bin bin -s",
    "diff -ur x y",
    "diff --label q a b -u",
    "diff -u a b --label q --label w",
    "diff --brief x y",
    "cmp a b",
    "cmp a",
    "cmp a nope",
    "cmp -s a b; echo $?",
    "cmp -l a b",
    "cmp a a",
    "cmp -b a b",
    "printf 'a\\nb\\n' > sh; cmp sh a",
    "printf 'a\\n' > e1; : > e0; cmp e0 e1",
    "diff -s x/f x/f",
    "diff -rs x x",
    "diff -d a b",
    "diff <(echo a) <(echo b)",
    "echo a | diff - b",
)

EXPR = (
    "expr 1 +",
    "expr",
    "expr 7 / 2 \\* 3",
    "expr 5 / 0",
    "expr abc : 'a\\(b\\)'",
    "expr abc : '.*'",
    "expr length abc",
    "expr substr hello 2 3",
    "expr index hello l",
    "expr a \\< b",
    "expr 10 \\< 9",
    "expr a = a",
    "expr 1 \\| 0",
    "expr 0 \\& 1",
    "expr '' \\| x",
    "expr \\( 1 + 2 \\) \\* 3",
    "expr 1 a",
    "expr a + 1",
    "expr \\( 1",
    "expr 1 \\)",
    "expr -5 % 3",
    "expr + length",
    "expr match abc 'b'",
    "expr 3 - 1 - 1",
    "expr 2 != 2",
    "expr 0",
    "expr length",
    "expr aaa : 'a*' + 1",
    "expr a : '\\(a'",
    "expr 12a : '[[:digit:]]*'",
    "expr 'f(1)' : 'f(\\([0-9]\\{1,2\\}\\))'",
    "expr a+b : 'a+'",
    "expr substr length abc 1",
    "expr length + length; expr match a; expr a :; expr 3 \\<= 3",
)

XARGS = (
    "echo nofile | xargs cat; echo $?",
    "echo x | xargs nosuchcmd; echo $?",
    "seq 3 | xargs false; echo $?",
    "seq 3 | xargs -n1 echo",
    "seq 5 | xargs -n2",
    'echo a b c | xargs -I{} echo "<{}>"',
    'printf "a b\\nc d\\n" | xargs -I{} echo "<{}>"',
    'printf "a\\0b c\\0" | xargs -0 -n1 echo',
    "echo \"a 'b c' d\" | xargs -n1",
    'echo "it\'s" | xargs',
    "xargs < /dev/null",
    "xargs -r echo hi < /dev/null",
    "xargs echo hi < /dev/null",
    "seq 3 | xargs -t echo",
    "seq 4 | xargs -P2 -n1 echo | sort",
    'printf "a b\\nc\\n" | xargs -L1 echo',
    'printf "x,y,z" | xargs -d, -n1 echo',
    'echo a | xargs -I% sh -c "echo %; exit 3"; echo $?',
    'echo a | xargs sh -c "exit 255"; echo $?',
    'seq 3 | xargs -I{} sh -c "exit {}"; echo $?',
    "xargs --bogus",
    "xargs -n",
    "xargs -n x echo",
    'printf "a\\\\ b c\\n" | xargs -n1',
    "seq 3 > l; xargs echo < l",
    "seq 3 | xargs -s 10 echo",
    "echo d | xargs cat; echo $?",
    "echo a | xargs -i echo {}{}",
    "seq 2 | xargs -n1 sh -c 'echo \"got $0\"'",
    'printf "a\\n\\nb\\n" | xargs',
    'printf "a\\n\\n b \\n" | xargs -I{} echo "[{}]"',
    "seq 3 | xargs -n1 -I{} echo {}",
    "echo x | xargs -0 echo",
    'printf "%s\\n" "a b" | xargs -d "\\n" echo',
    "echo x | xargs touch && ls x",
    'seq 3 | xargs printf "%s-%s-%s\\n"',
    'seq 2 | xargs -I{} sh -c "cat"',
    "xargs -x -n 2 < l",
)

ARCHIVES = (
    "mkdir d d/s; echo a > d/a; ln -s a d/l; tar cf x.tar d; tar tf x.tar",
    "tar tvf x.tar | sed 's/20.. *-.*:.. /T /'",
    "tar cvf y.tar d",
    "tar cvzf y.tgz d",
    "tar xvf x.tar",
    "tar xf nope.tar",
    "tar cf z.tar nope",
    "tar cf z.tar d nope; echo $?",
    "tar czf e.tgz",
    "tar xvf x.tar d/a",
    "tar xf x.tar q",
    "tar tf x.tar d/s",
    "tar -C d -cf w.tar a s; tar tf w.tar",
    "mkdir o; tar -xf x.tar -C o; ls o",
    "tar xf x.tar -C nodir",
    "tar xf y.tgz -O d/a",
    "tar --strip-components=1 -xvf x.tar -C o",
    "tar cf - d | tar tf -",
    "mkdir src; tar -cf - d | tar -xf - -C src; tar cf - d | tar xf - -C src; find src; rm -r src",
    "tar cf - d | tar xf - -C o",
    "tar --exclude=a -cvf v.tar d",
    "tar --bogus",
    "tar cjf q.tbz d; tar tf q.tbz",
    "echo junk > j; tar tf j",
    "tar xf j",
    "tar tzf j",
    "tar -tf x.tar --wildcards '*/a'",
    "tar cvf - d > k.tar",
    "tar czvf - d | gzip -t",
    "gzip nope",
    "gzip d",
    "echo hello > h; gzip h; ls h*",
    "gzip h.gz",
    "gzip -c h.gz | head -c 0",
    "gzip -k h; gzip h < /dev/null",
    "gzip -f h; ls h*",
    "gzip -dc h.gz",
    "zcat h.gz h.gz",
    "gzip -t h.gz; echo $?",
    "zgrep hel h.gz",
    "gzip < p.txt > p.gz; zcat < p.gz",
    "seq 9 > n; gzip -cn n > m.gz; gzip -cn n >> m.gz; zcat m.gz | wc -l; sh -c 'zcat < m.gz' | wc -l",
    "cat m.gz m.gz | gunzip | wc -l; zgrep -c . m.gz; gzip -nc n | head -c 10 | od -An -tx1",
    "zcat < n; echo $?; zcat nope; echo junk | gzip -t; rm m.gz",
    "gzip -z",
)

BYTES = (
    "printf 'aGVsbG8' > cut; base64 -d cut; echo $?",
    "echo a.eyJhIjoxfQ.c | cut -d. -f2 | base64 -d 2> /dev/null",
    "base64 -d <<< 'aGk=aGk='; base64 -di <<< 'aG!k='; base64 -d <<< 'a!b'; base64 -d nope",
    "seq 99 > s; base64 s | base64 -d | cmp - s && base64 -w 0 s | base64 --decode | wc -c",
    "xxd -p s | head -2; xxd -p -c 10 s | tail -1; xxd -ps -c 0 -l 40 s; xxd -p s | xxd -r -p | cmp - s",
    "printf 'h\\303\\251\n' > u; printf 'a\\r\nb\\r\n' > dos; head -c 700 /dev/zero > zero; tar cf t.tar s",
    "file u dos zero t.tar s cut; file -b u s",
)


@pytest.mark.parametrize(
    "story",
    [BYTES, DIFF, EXPR, LESSER, XARGS],
    ids=["bytes", "diff", "expr", "lesser", "xargs"],
)
def test_text_tools_are_the_real_ones(tmp_path: Path, story: tuple[str, ...]) -> None:
    assert_same_story(tmp_path, story)


def test_archives_are_the_real_ones_but_for_the_order_on_disk(tmp_path: Path) -> None:
    assert_same_story(tmp_path, ARCHIVES, unordered=True)


LINES = st.lists(st.sampled_from("abcd"), max_size=14)


@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(old=LINES, new=LINES)
def test_a_difference_is_as_short_as_that_of_gnu_diff(
    tmp_path: Path, old: list[str], new: list[str]
) -> None:
    (tmp_path / "old").write_text("".join(line + "\n" for line in old))
    (tmp_path / "new").write_text("".join(line + "\n" for line in new))
    shown = RealMachine(tmp_path)("diff --unchanged-line-format= --old-line-format='-%dn '"
                                  " --new-line-format='+%dn ' old new").stdout.split()  # fmt: skip

    found = changes(old, new)

    made = list(old)
    for change in reversed(found):
        made[change.old_start : change.old_end] = new[change.new_start : change.new_end]
    assert made == new
    gone = sum(change.old_end - change.old_start for change in found)
    assert gone == sum(word[0] == "-" for word in shown)


def test_a_kind_of_file_in_other_words_is_refused() -> None:
    simulated = SimulatedMachine()
    try:
        with pytest.raises(EngineFailure, match=r"faithfully: 'the option --mime-type of file'"):
            simulated("file --mime-type -b /etc/passwd")
    finally:
        simulated.live.close()


def test_archives_pass_through_pipes_byte_by_byte() -> None:
    simulated = SimulatedMachine()
    try:
        simulated("mkdir d; head -c 3000 /dev/urandom > d/bytes; sum < d/bytes > before")
        answer = simulated(
            "tar cf - d | gzip > x.tgz; mkdir o; gzip -dc x.tgz | tar xf - -C o;"
            " sum < o/d/bytes | cmp - before && gzip -c d/bytes | gunzip | cmp - d/bytes && echo same"
        )
    finally:
        simulated.live.close()
    assert answer == ("same\n", "", 0)
