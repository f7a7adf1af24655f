"""bash's own texts: syntax errors, refusals, traces, exit codes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bashkit import Bash, BashError

from agentworld_sim.engines.shell.bash_texts import exit_code_of, plain
from agentworld_sim.engines.shell.syntax_errors import (
    split_at_syntax_error,
    split_at_unclosed_brace,
)
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.limited import once
from tests.engines.shell.real_tools import ENVIRONMENT, assert_same_story

SCRIPTS = (
    'echo "a\nb\nc',
    "echo 'x\ny",
    "echo $(ls\nfoo",
    'echo "$(ls"',
    "echo ${x",
    'echo "${x"',
    "echo `ls\nx",
    "cat <<E\na\nb",
    "if true; then\necho a\n",
    "while true; do echo; ",
    "for i in a b; do echo $i",
    "{ echo a",
    "(echo a",
    "f() { echo",
    "case x in a) echo",
    "for i in a b; echo $i; done",
    "if true; echo; fi",
    "fi",
    "done; echo",
    "echo a | | b",
    "echo a ;; echo",
    "&& echo",
    "echo a |",
    "echo ) x",
    "[[ a == b",
    "[[ a b ]]",
    "case x in",
    "echo <",
    "((1+",
    "if [ 1 ]; then echo a; else",
    "for ((i=0;i<3;i++)) do echo; done",
    "function",
    "echo hi }",
    "} ",
    "echo a\necho b\nif x; then fi\necho c",
    "do echo",
    "then",
    "else",
    "for i in a; do; echo; done",
    "while; do echo; done",
    'echo "a" "b',
    "python3 -c 'print(\"it's\")'",
    "echo it's",
    "until",
    "for",
    "f( echo",
    "f() echo",
    "echo a & & b",
    "echo a && || b",
    ";",
    "; echo",
    "echo a ; ; b",
    "(echo a))",
    "{ }",
    "if ; then",
    "time",
    "coproc",
    "echo >& ",
    "echo 2>",
    "<<",
    "echo <<<",
    "case in esac",
    "esac",
    "for x in",
    "a() { b; ",
    "a() { b }",
    "echo $(fi)",
    "x=$(echo a",
    "echo (",
    "echo a (",
    "echo $(( (1+2) * 3 ))",
    "((x=1)); ( (echo a) )",
    "x=$( (echo a) )",
    "for ((;;)); do break; done",
    "case $x in (a|b) echo;; *) ;; esac",
    "case x in\na) ;;\nesac",
    "if true; then echo; elif false; then echo; else echo; fi",
    "f() (echo)",
    "function f { echo; } > x",
    "a=(1\n2\n) b=3 cmd",
    'cat <<A <<"B"\nx\nA\ny\nB\necho',
    'echo "${x:-"a b"}" ${y[@]} $\'it\\\'s\'',
    "echo a#b # comment )",
    "echo \\( \\)",
    "[[ $a =~ ^(b|c)$ ]] && echo",
    "while read x; do echo; done < <(ls)",
    "exec 3>&1 2>&-",
    "echo {a,b} }",
    "x=1 if",
    "if",
    "echo if then",
    "! true",
    "a | b |\nc",
    "a &&\n\nb",
    "foo() { :; }; foo",
    "{ a; } | { b; }",
    'echo $(echo ")")',
    "echo $(case x in a) echo;; esac)",
    "echo `echo \\`x\\``",
    "echo <(ls) >(cat)",
    "echo ;",
    "echo &",
    "a;b;;",
    'echo "$(cat <<E\nx\nE\n)"',
    'echo "unclosed\nif true; then',
    "for i; do echo; done",
    "for i in $(seq 3); do echo $i; done; fi",
    "echo done",
    "if true\nthen echo\nfi\n}",
    "def f():\n    return 1",
    "import os; print(os.getcwd())",
    'print("hello")',
    "SELECT * FROM t;",
    "foo(bar)",
    "x = (1, 2)",
    'echo "a" > > b',
    "cat < ",
    "cat <\nb",
    "ls |& cat",
    "echo a 2>&1 | (",
    'git commit -m "fix: don\'t"',
    "git commit -m 'don't'",
    "awk {print}",
    "select",
    "function { echo; }",
    "[ a",
    "if [ a ]; then; echo; fi",
    "else if",
    "while true do echo; done",
    "for i in 1 2 do echo; done",
    "case a in b) echo esac",
    "echo $(",
    '"',
    "'",
    "`",
    "$(",
    "${",
    "(",
    "((",
    "{",
    "a() {\nb\n",
    "a\\\nb (",
    "function f() { echo hi; ",
    "f() { if true; then echo; }",
    "if true; then { echo; fi",
    "(if true; then echo; fi",
    "( echo; }",
    "{ echo; )",
    "do",
    'let "a=1',
)

TEXTS = (
    "nosuchcommand",
    "echo a; nosuchcommand x; echo b",
    "echo one\nnosuch\necho three",
    "cat /nope",
    "/nope/prog",
    "./nope",
    "mkdir dir; ./dir",
    "echo 'echo hi' > script; ./script",
    "cd nope",
    "cd script",
    "cd a b",
    "echo x > nope/f",
    "echo x > dir",
    "cat < nope",
    "set -u; echo $unset; echo no",
    "set -u; echo ${unset}x",
    "echo ${unset:?gone}",
    "echo ${unset?}",
    "set -e; false; echo no",
    'set -x; a=1; echo $a "b c"; [ 1 = 1 ]',
    "PS4='> '; set -x; echo a",
    "readonly r=1; r=2; echo no",
    "echo $((1/0))",
    "echo $((1 +))",
    "[ 1 -eq x ]",
    "[ a b ]",
    "[ 1 = 1 2 ]",
    "[ 1 = 1",
    "test x -gt 1",
    "printf '%d\\n' x",
    "printf",
    "export 'x y'",
    "export 1a=2",
    "unset -f nosuch; unset 1x",
    "shift 5; echo $?",
    "return 3",
    "break",
    "local x=1",
    "kill",
    "exec nosuch; echo no",
    "exit 300",
    "exit abc",
    "touch a.txt b.txt; echo x > *.txt",
    "echo ${x!}",
    "type nosuch",
    "command -v nosuch; echo $?",
    "source nope",
    ". nope; echo $?",
    "trap x NOSUCH",
    "umask 999",
    "false | true; echo ${PIPESTATUS[@]}",
    "set -o nosuch",
    "declare -Q x",
    "read -t x y",
    "wait 99999",
    "let x=",
    "getopts",
    "alias nosuch",
    "echo first\necho second\nif true; then\necho third",
    "echo before; echo 'open",
    "bash -c 'if'",
    "eval 'fi'",
    "tr a",
    "wc nope",
    "sort nope",
    "head -n x script",
    "tail nope",
    "cut script",
    "cut -f",
    "seq x",
    "basename",
    "dirname",
    "sleep x",
    "comm script",
    "grep x nope",
    "sed -n p nope",
    "awk '{print}' nope",
    "uniq nope",
    "nl nope",
    "paste nope",
)


def _refusal(script: str) -> str:
    try:
        Bash().analyze(script)
    except BashError as error:
        return split_at_syntax_error(script, str(error), Bash().analyze)[1]
    unclosed = split_at_unclosed_brace(script)
    return unclosed[1] if unclosed else ""


def test_the_first_syntax_error_is_the_one_bash_reports() -> None:
    different: list[str] = []
    scripts: tuple[str, ...] = SCRIPTS
    for script in scripts:
        real = subprocess.run(
            ["bash", "-n", "-c", script],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        ).stderr
        ours = _refusal(script)
        # An unfinished here-document is a warning only.
        if ours != real and "warning" not in real:
            different.append(f"{script!r}\n  real: {real!r}\n  ours: {ours!r}")
    assert not different, "\n".join(different)


def test_what_the_shell_says_is_what_bash_says(tmp_path: Path) -> None:
    assert_same_story(tmp_path, TEXTS)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("bash: line 1: toch: command not found. Did you mean touch?\n", "bash: line 1: toch: command not found\n"),
        ("wc: /srv/app/nope: No such file or directory\n", "wc: nope: No such file or directory\n"),
        ("sort: unrecognized option '--x'\n", "sort: unrecognized option '--x'\nTry 'sort --help' for more information.\n"),
        ("head: invalid number of lines: 'x'\n", "head: invalid number of lines: \u2018x\u2019\n"),
        ("missing ]\n", "bash: line 1: [: missing `]'\n"),
    ],
)  # fmt: skip
def test_the_embedded_shells_words_are_put_as_the_real_ones(said: str, expected: str) -> None:
    assert plain(said, script="x", cwd=lambda: "/srv/app") == expected


def test_a_path_that_the_script_names_is_left_as_it_is() -> None:
    said = "wc: /srv/app/nope: No such file or directory\n"

    assert plain(said, script="wc /srv/app/nope", cwd=lambda: "/srv/app") == said


def test_what_a_file_says_is_never_reworded(machine_shell: MachineShell) -> None:
    said = "head: x: No such file or directory\\nmissing ]\\n"
    shown = machine_shell.out(f"printf '{said}' > f; x=1; cat f")
    assert shown == "head: x: No such file or directory\nmissing ]\n"


@pytest.mark.parametrize(
    ("script", "options", "exit_code"),
    [
        # As GNU bash 5.2.15 exits after `bash -c`.
        ("set -u; echo $unset", (), 127),
        (": ${unset:?is unset}", (), 127),
        ("set -eu; echo $unset", (), 1),
        ("set -e; : ${unset:?is unset}", (), 1),
        ("set -o errexit; : ${unset?is unset}", (), 1),
        ("set -eu; set +e; echo $unset", (), 127),
        ("set -u; echo $unset", ("errexit",), 1),
    ],
)
def test_a_shell_that_gives_up_on_a_variable_exits_as_bash_does(
    script: str, options: tuple[str, ...], exit_code: int
) -> None:
    said = "unbound variable" if "set -u" in script or "-eu" in script else "is unset"
    assert exit_code_of(script, f"bash: line 1: unset: {said}\n", options) == exit_code


@pytest.mark.parametrize("first", ["", "#!/bin/bash\n"])
def test_a_script_file_that_does_not_parse_is_named_with_its_line(first: str) -> None:
    line = 3 if first else 2
    shown = once(f"mkdir d; printf '{first}echo 1\nif then\n' > d/s; chmod +x d/s; cd d; ./s")
    assert (shown.stderr, shown.exit_code) == (
        f"./s: line {line}: syntax error near unexpected token `then'\n./s: line {line}: `if then'\n",
        2,
    )
