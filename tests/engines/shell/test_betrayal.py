"""No text shows an agent that its machine is not a plain Debian machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from agentworld_sim.engines.shell.commands.helper import BUILTINS
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, MISSING
from agentworld_sim.errors import EngineFailure

from .conftest import MachineShell, MakeMachine

BETRAYAL = re.compile(
    r"bashkit|sandbox|monty|everruns|virtual(?! memory|ization)|simulat|emulat|in-process|\brust"
    r"|Traceback \(|RuntimeError|UnicodeEncodeError|BrokenPipeError|\bpanick?ed|/proc/self/exe"
    r"|unavailable in|not supported in|\buutils\b|\bclap\b|0\.20\.1|unexpected argument '"
    r"|For more information, try|io error|RANDOM=\d|:kept:",
    re.IGNORECASE,
)

HONEST = (
    # What a real machine says too.
    re.compile(r"(?m)^virtual memory.*$"),
    re.compile(r"(?m)^(?:Address sizes:|address sizes\t:).* bits virtual$"),
)

WAITS = frozenset({"yes", "vi", "nano", "watch", "man", "sudo"})
"""Not run without arguments: they wait, or never end."""


def betrayals(text: str) -> list[str]:
    for honest in HONEST:
        text = honest.sub("", text)
    return [line for line in text.splitlines() if BETRAYAL.search(line)]


def about_commands() -> Iterator[str]:
    names = [name for name in COMMAND_NAMES if name != "["]
    for name in names:
        yield f"{name} --version"
        yield f"{name} --help </dev/null"
        yield f"/usr/bin/{name} --version </dev/null"
        yield f'x=$({name} --version 2>&1 </dev/null | head -n 3); echo "$x"'
        if name not in WAITS:
            yield f"{name} </dev/null"
            yield f"{name} --no-such-option </dev/null"
            yield f"{name} -@ </dev/null"
            yield f"{name} /no/such/file </dev/null"
            yield f"{name} / </dev/null"
            yield f"{name} a b c d </dev/null"


def about_builtins() -> Iterator[str]:
    for name in BUILTINS:
        if name in ("[", "exec", "exit", "logout", "suspend", "return"):
            continue
        yield f"{name} --help"
        yield f"{name} --no-such-option"
        yield f"type -a '{name}'"


def about_missing() -> Iterator[str]:
    for name in (*sorted(MISSING), "git", "pip", "npm", "node", "python3", "docker", "gcc", "vim",
                 "ssh", "systemctl", "service", "ip", "ifconfig", "ping", "perl", "ruby"):  # fmt: skip
        yield f"{name} --version"
        yield f"echo {name} x | xargs {name}"
        yield f"command -v {name}; type {name}; which {name}; hash {name}"
        yield f"env {name}; timeout 1 {name}; nohup {name}; sudo {name}; bash -c {name}"
        yield f"apt-get install -y {name}; apt list {name}"


ABOUT_THE_SHELL = (
    "env", "set", "declare -p", "declare -F", "declare -f", "export -p", "alias", "help", "enable",
    "enable -a", "compgen -c", "compgen -b", "compgen -k", "compgen -A function", "compgen -A file",
    "shopt", "set -o", "trap", "trap -p", "jobs", "history", "times", "ulimit -a", "umask", "hash",
    "dirs -v", "caller", "bind -l", "complete -p", "readonly -p", "typeset -p", "printenv",
    "echo $BASH_VERSION ${BASH_VERSINFO[@]} $BASHOPTS $SHELLOPTS $0 $$ $PPID $BASHPID $SHLVL $_",
    "echo $HOSTNAME $HOSTTYPE $MACHTYPE $OSTYPE $UID $EUID ${GROUPS[@]} $- $BASH $SHELL $IFS",
    "bash --version", "bash --help", "sh --version", "sh --help", "/bin/bash --version",
    "/bin/sh --version", "bash --nosuch", "sh --nosuch", "bash -c", "bash /nosuch", "sh -c 'exit 3'",
    "bash -c 'declare -p; set; env'", "env -i bash -c 'declare -p; env'", "env -i env",
    "bash -x -c 'echo a'", "set -x; head -c 4 /dev/urandom | od -c; trap -p; set +x",
    "set -v; echo a", "type -a bash sh ls cd if command builtin", "command -V ls bash cd",
    "uname -a; hostname; hostname -f; id; whoami; groups; arch; nproc; tty; locale; locale -a",
    "getent passwd; getent group; getent hosts; getent hosts nosuch", "who; w; users; last; logname",
    "ps; ps aux; ps -ef; ps -e; ps -p 1 -o comm=; ps -o pid,args; top -bn1; pgrep -l .; pgrep bash",
    "df; df -h; df -T; df -i; free; free -h; uptime; lscpu; lsblk; mount; dmesg; cat /proc/mounts",
    "time true", "time -p true", "(time true) 2>&1 | cat", "{ time ls; } 2>&1", "kill -l",
    "kill 99999", "kill -0 $$", "kill -9 abc", "wait 99999", "fg", "bg", "disown", "sleep 1 & wait",
    "sleep 1 & jobs; echo $!", "history -c", "fc -l", "exec nosuch", "source nosuch", ". /nosuch",
    "nosuch", "./nosuch", "/nosuch", "/etc/passwd", "/root", "cd /nosuch", "cat < /nosuch",
    "echo > /nosuch/x", "echo a > /usr/bin/x", "rm -f /usr/bin/ls", "echo a | tee /usr/bin/x",
    "cp /etc/passwd /usr/bin/x", "mkdir /usr/bin/x", "touch /usr/bin/x", "mv /usr/bin/ls /tmp",
    "chmod 700 /usr/bin/ls", "ln -s a /usr/bin/b", "sed -i s/a/b/ /usr/bin/ls", "rmdir /usr/bin",
    "echo a > /proc/version", "rm /proc/version", "mkdir /proc/x", "echo 1 > /dev/full",
    "rm -rf --no-preserve-root /usr/bin", "tar -C /usr/bin -cf - . | head -c 100 | wc -c",
    "if then", "echo $((1/0))", "echo ${x:?gone}", "set -u; echo $nosuch", "readonly a=1; a=2",
    "f() { f; }; f", "local x", "return 1", "break", "[ 1 -eq a ]", "[[ a =~ ( ]]", "let 1+",
    "((1+))", "printf '%d' x", "read -t 0 x", "unset UID", "declare -i x=a+", "export 1a=2",
    "eval 'echo )'", "trap x NOSUCH", "ulimit -n x", "umask 999", "shopt -s nosuch", "set -o nosuch",
    "getopts", "select x in a b; do break; done </dev/null", "mapfile x < /nosuch", "coproc cat",
    "exec 5<>/dev/tcp/localhost/80", "cat /dev/tcp/localhost/80", "echo a > /dev/tcp/127.0.0.1/9",
    "sudo -l", "sudo -u nobody id", "sudo nosuch", "su - nobody", "curl http://example.com",
    "wget http://example.com", "apt-get update", "apt update", "apt-get install -y git", "dpkg -l",
    "dpkg -s bash", "dpkg -L coreutils", "dpkg -S /usr/bin/ls", "apt-cache policy bash",
    "apt list --installed", "apt search json", "pip install x", "python3 -c 'print(1)'", "node -v",
    "git status", "make", "make nosuch", "make --version", "awk 'BEGIN{print nosuch(1)}'",
    "awk 'BEGIN{system(\"uname -a\")}'", "awk 'BEGIN { print ENVIRON[\"HOME\"]; print PROCINFO[\"version\"] }'",
    "jq . nosuch", "jq 'nosuch' <<<1", "jq '.a.b' <<<'[1]'", "jq -n 'env'", "jq -n '$ENV'",
    "jq -n 'input'", "jq -n '@json \"x\", $__loc__, now, input_filename'", "jq -n 'error(1)'",
    "sed 's/a' <<<a", "sed -n '/[/p' <<<a", "grep '[' <<<a", "grep -P '(?<=a' <<<a", "find / -nosuch",
    "find / -maxdepth 1", "find /usr /proc /dev | head -n 300", "ls -laR / | head -n 400",
    "du -sh /usr /etc", "stat / /usr/bin/ls /proc /dev/null", "file /usr/bin/ls /etc/passwd /dev/null",
    "strings /usr/bin/ls | head -n 3", "head -c 4 /usr/bin/ls | od -c", "wc -c /usr/bin/ls",
    "tar xf /nosuch", "tar tf /etc/passwd", "unzip /etc/passwd", "gzip -d /etc/passwd", "zip", "patch",
    "bc <<<'1/0'", "bc <<<'nosuch('", "xxd /nosuch", "openssl version", "openssl nosuch",
    "openssl rand -hex 4", "date -d nosuch", "date --nosuch", "sleep x", "timeout x ls", "timeout 1",
    "timeout 1 sleep 5", "mktemp", "mktemp x", "shuf -i 1-3", "shuf -i 3", "xargs nosuch <<<a",
    "find /etc -name passwd -exec nosuch {} \\;", "env nosuch", "env -i nosuch", "nohup nosuch",
    "nice nosuch", "watch ls", "flock /tmp/x nosuch", "less /nosuch", "more /nosuch", "clear",
    "column /nosuch", "split /nosuch", "iconv -f nosuch", "iconv -l | head -n 5", "getconf -a",
    "getconf LONG_BIT", "getconf NOSUCH", "strace ls", "ltrace", "gdb", "lsof", "vmstat", "iostat",
    "journalctl", "systemd-detect-virt", "virt-what", "dmidecode", "lspci", "cat /sys/class/dmi/id/sys_vendor",
    "cat /proc/1/cgroup /proc/self/cgroup /proc/1/cmdline /proc/self/status", "ls -la /proc/self/fd",
    "cat /proc/self/environ /proc/self/maps", "readlink /proc/self/exe", "ls -l /proc/1/exe /proc/self",
    "echo $RANDOM $SRANDOM $SECONDS $EPOCHSECONDS $EPOCHREALTIME", "printf '%(%c)T\\n' -1",
)  # fmt: skip


def found_in(make: MakeMachine, scripts: Iterable[str]) -> dict[str, list[str]]:
    """The scripts that print something telling, with what they print."""
    shell = make()
    found: dict[str, list[str]] = {}
    for script in scripts:
        try:
            result = shell.run(script, keep="nothing")
        except EngineFailure:
            # The engine says aloud, to people, that it cannot compute this: no agent reads it.
            shell = make()
            continue
        lines = betrayals(result.stdout + "\n" + result.stderr)
        if lines:
            found[script] = lines[:3]
    return found


@pytest.mark.parametrize(
    "scripts",
    [about_commands, about_builtins, about_missing, lambda: iter(ABOUT_THE_SHELL)],
    ids=["commands", "builtins", "missing", "shell"],
)
def test_no_output_shows_what_runs_it(
    make_machine: MakeMachine, scripts: Callable[[], Iterator[str]]
) -> None:
    assert found_in(make_machine, scripts()) == {}


def test_no_file_of_the_machine_shows_what_runs_it(make_machine: MakeMachine) -> None:
    script = "find /etc /proc /usr/lib /root /var /dev -path /usr/lib/python3.12 -prune -o -type f -print"
    listing = make_machine().run(script).stdout.split()
    readable = [path for path in listing if not path.endswith(("random", "zero"))]
    assert len(readable) > 50
    assert found_in(make_machine, (f"cat {path}; ls -la {path}" for path in readable)) == {}


def test_a_kept_shell_shows_nothing_of_its_keeping(machine_shell: MachineShell) -> None:
    for script in ABOUT_THE_SHELL[:40]:
        result = machine_shell.run(script, keep="all")
        assert betrayals(result.stdout + result.stderr) == []
