"""A shell that is kept from call to call goes on exactly as a real one, on any machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.engines.shell.session import redirects_in, redirects_in_force
from tests.engines.shell.limited import Kept
from tests.properties import examples

STEPS = [
    ["x=1; y=(a b c); declare -A m=([k]=v); f() { echo F $1; }", "echo $x ${y[1]} ${m[k]}; f 2"],
    ["export z=3", "env | grep ^z="],
    ["set -- a 'b c'", "echo $# \"$2\"", "shift; echo $1", "echo $#"],
    ["false", "echo $?"],
    ["(exit 7)", "echo $?", "echo $?"],
    ["set -f", "echo *", "set +f", "echo *"],
    ["set -o pipefail", "false | true; echo $?"],
    ["set -o noclobber", "echo a > f1", "echo b > f1; cat f1"],
    ["shopt -s nullglob", "echo /nope*", "shopt nullglob"],
    ["shopt -s extglob dotglob", "shopt extglob dotglob globstar"],
    ["umask 077", "umask", "touch f; stat -c %a f"],
    ["mkdir -p a/b; cd a; pushd b > /dev/null", "dirs | wc -w", "popd > /dev/null; basename $PWD"],
    ["mkdir d; cd d", "cd ..", "echo ${OLDPWD##*/}", "cd - > /dev/null; basename $PWD"],
    ["shopt -s expand_aliases; alias ll='echo LL'", "ll x", "unalias ll", "ll x"],
    ["getopts ab o -a -b; echo $o $OPTIND", "getopts ab o -a -b; echo $o $OPTIND"],
    ["exec 3> out.txt", "echo one >&3", "echo two >&3; cat out.txt", "exec 3>&-; echo three >&3"],
    ["exec > log.txt", "echo hidden; pwd", "cat log.txt >&2"],
    ["exec 2>&1", "ls /nope"],
    ["trap 'echo bye' EXIT", "echo one", "trap -p EXIT", "trap 'echo later' EXIT", "trap - EXIT"],
    ["trap 'echo U' USR1", "kill -USR1 $$", "trap -p"],
    ["trap 'echo E' ERR; true", "true", "false", "true"],
    ["readonly R=1", "R=2", "echo $R"],
    ["declare -i n=3", "n=n+2; echo $n"],
    ["declare -n ref=x; x=5", "echo $ref; ref=6; echo $x"],
    ["IFS=,", "v=a,b; for i in $v; do echo $i; done"],
    ["f() { return 3; }; f", "echo $?", "declare -f f", "unset -f f", "type f"],
    ["SECONDS=100", "[ $SECONDS -ge 100 ] && echo late"],
    ["read a b <<< '1 2'", "echo $b"],
    ["set -x", "echo hi", "set +x", "echo quiet"],
    ["cat <<A > h\nline\nA", "cat h"],
    ["echo a \\", "echo b # c"],
]  # fmt: skip


def _real(steps: list[str], folder: Path) -> list[tuple[str, str]]:
    """Standard output and `$?` of each step in one real bash."""
    script = ["exec 8>&1"]
    for index, step in enumerate(steps):
        (folder / f"step{index}").write_text(step + "\n")
        note = '{ printf "\\n%s %s\\n" "=END" "$?" >&8; } 2>/dev/null'
        script.append(f"{step}\n\n__code=$?; {note.replace('$?', '$__code')}; (exit $__code) && :")
    home = folder / "home"
    home.mkdir()
    done = subprocess.run(
        ["bash", "--norc", "--noprofile"],
        input="\n".join(script) + "\ntrap - EXIT\n",
        capture_output=True,
        text=True,
        cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        timeout=20,
        check=False,
    )
    answers: list[tuple[str, str]] = []
    rest = done.stdout
    while "\n=END " in rest:
        text, _, rest = rest.partition("\n=END ")
        code, _, rest = rest.partition("\n")
        answers.append((text, code))
    return answers


@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
@pytest.mark.parametrize("steps", STEPS, ids=[steps[0][:30] for steps in STEPS])
def test_a_kept_shell_answers_as_one_real_bash(
    steps: list[str], reopened: bool, tmp_path: Path
) -> None:
    kept = Kept(reopened=reopened)
    runs = [kept(step) for step in steps]
    assert [(run.stdout, str(run.exit_code)) for run in runs] == _real(steps, tmp_path)


def test_an_exit_trap_fires_when_the_shell_is_left_and_not_before() -> None:
    kept = Kept()
    assert kept.out("trap 'echo bye' EXIT; cd /tmp; x=1") == ""
    assert kept.out("echo one") == "one\n"
    left = kept("exit 3; echo never")
    assert (left.stdout, left.exit_code) == ("bye\n", 3)
    assert kept.out('echo "[$x] $PWD $?"; trap -p') == "[] /root 0\n"


@pytest.mark.parametrize(
    "leaving", ["exit", "kill -9 $$", "set -e; false", "exec true", 'x=\'eval "$x"\'; eval "$x"']
)
def test_a_shell_that_is_left_starts_afresh(leaving: str) -> None:
    kept = Kept()
    kept("a=1; cd /tmp; set -- x")
    kept(leaving)
    assert kept.out('echo "[$a] $PWD $#"') == "[] /root 0\n"


def test_nothing_leaks_from_one_session_into_another() -> None:
    kept = Kept()
    kept("exec 5> five; set -- a b; exec > log; trap 'echo no' EXIT; alias q=echo; hash -p /x y")
    kept.session = type(kept.session)()
    assert kept.out("echo $# visible; hash 2>&1; echo x >&5 || echo closed").splitlines() == [
        "0 visible",
        "hash: hash table empty",
        "closed",
    ]


def test_a_redirection_of_a_kept_shell_does_not_empty_its_file_again() -> None:
    kept = Kept(reopened=True)
    for word in ("exec 4> notes", "echo a >&4", "echo b >&4"):
        kept(word)
    assert kept.out("cat notes") == "a\nb\n"


def test_redirections_are_read_from_the_script() -> None:
    found = redirects_in('exec 3> "$x" 2>&1; echo exec > no; if a; then exec >log; fi')
    assert [(one.descriptor, one.operator, one.target) for one in found] == [
        ("3", ">", '"$x"'),
        ("2", ">&", "1"),
        ("", ">", "log"),
    ]
    assert redirects_in_force(("3>>'/a'", "4>>'/b'"), ("3>&-",)) == ("4>>'/b'",)
    assert redirects_in_force(("3>>'/a'",), ("3>>'/c'",)) == ("3>>'/c'",)


NAMES = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["1", "two", "$a", '"$b c"', "$((RANDOM % 7))", "$#", "$1", "$(pwd)"])
COMMANDS = st.one_of(
    st.builds("{}={}".format, NAMES, WORDS),
    st.builds("echo {} {}".format, WORDS, WORDS),
    st.builds("echo {} > {}.txt".format, WORDS, NAMES),
    st.builds("echo {} >> {}.txt".format, WORDS, NAMES),
    st.builds("cat {}.txt".format, NAMES),
    st.builds("mkdir -p {0} && cd {0}".format, NAMES),
    st.just("cd .."),
    st.builds("{}() {{ echo {} $1; }}".format, st.sampled_from(["f", "g"]), WORDS),
    st.sampled_from(["f x", "g", "false", "(exit 4)", "echo $?", "shift", "ls", "umask 027"]),
    st.builds("set -- {} {}".format, WORDS, WORDS),
    st.sampled_from(["set -u", "set +u", "set -o pipefail", "shopt -s nullglob", "set -f", "set +f"]),
    st.builds("trap 'echo T {}' {}".format, WORDS, st.sampled_from(["EXIT", "ERR", "USR1"])),
    st.sampled_from(["kill -USR1 $$", "trap - EXIT", "trap -p", "exit 2", "exec 3> e.txt", "echo e >&3"]),
    st.sampled_from(["rm -f a.txt", "mv a.txt b.txt", "touch -d 2020-01-01 c.txt", "sleep 2"]),
    st.sampled_from(["x=(1 2); x+=(3)", "echo ${x[@]}", "alias l=ls", "export b", "env | grep ^b"]),
)  # fmt: skip
SCRIPTS = st.lists(COMMANDS, min_size=1, max_size=4).map("; ".join)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
@given(st.lists(SCRIPTS, min_size=2, max_size=5))
def test_a_shell_reopened_from_bytes_goes_on_as_the_live_one(scripts: list[str]) -> None:
    live, reopened = Kept(), Kept(reopened=True)
    try:
        for script in scripts:
            one, other = live(script), reopened(script)
            assert (one.stdout, one.stderr, one.exit_code) == (
                other.stdout,
                other.stderr,
                other.exit_code,
            ), script
            assert live.tree == reopened.tree, script
    finally:
        live.close()
        reopened.close()
