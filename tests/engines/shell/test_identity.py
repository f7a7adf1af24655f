"""The machine says the same about itself everywhere, and says it as Debian does."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from bashkit import Bash

from agentworld_sim.engines.shell import commands
from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.image import SCRIPTS, base_tree, system_mounts
from agentworld_sim.engines.shell.machine import Machine, User
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, MISSING, PACKAGES
from agentworld_sim.types.files import MemoryBlobs

from .conftest import CLOCK_US, MachineShell, MakeMachine

SHELLS = frozenset({"bash", "sh"})


def test_every_command_has_its_function() -> None:
    for module, function in commands.FUNCTIONS.values():
        assert callable(getattr(import_module(f"{commands.__name__}.{module}"), function))


def test_uname_answers_every_flag(machine_shell: MachineShell) -> None:
    assert machine_shell.out("uname; uname -n; uname -r; uname -m; uname -sr; uname -p -i -o") == (
        "Linux\ndebian\n6.1.0-28-amd64\nx86_64\nLinux 6.1.0-28-amd64\nunknown unknown GNU/Linux\n"
    )
    assert machine_shell.out("uname -a") == (
        "Linux debian 6.1.0-28-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22) x86_64"
        " GNU/Linux\n"
    )
    assert machine_shell.fails("uname x") == (
        "uname: extra operand \u2018x\u2019\nTry 'uname --help' for more information.\n",
        1,
    )


def test_the_user_is_root_everywhere(machine_shell: MachineShell) -> None:
    script = "id; id -u; id -un; id -Gn; whoami; groups; echo $UID $EUID $USER $HOME; cd; pwd"
    assert machine_shell.out(script) == (
        "uid=0(root) gid=0(root) groups=0(root)\n0\nroot\nroot\nroot\nroot\n0 0 root /root\n/root\n"
    )
    assert machine_shell.out("getent passwd root; getent group 0") == (
        "root:x:0:0:root:/root:/bin/bash\nroot:x:0:\n"
    )


def test_other_users_are_known_by_name_and_number(make_machine: MakeMachine) -> None:
    ada = User("ada", 1000, 1000, "/home/ada", "/bin/bash", "Ada")
    shell = make_machine(machine=Machine(extra_users=(ada,)))
    assert shell.out("id ada; id 1000 -un; getent passwd 1000; ls -ld /home/ada | cut -c1-30") == (
        "uid=1000(ada) gid=1000(ada) groups=1000(ada)\nada\n"
        "ada:x:1000:1000:Ada:/home/ada:/bin/bash\ndrwxr-xr-x 2 ada ada 4096 Sep \n"
    )
    assert shell.fails("id nobody2") == ("id: \u2018nobody2\u2019: no such user\n", 1)


def test_the_environment_holds_what_a_login_has_and_nothing_else(
    machine_shell: MachineShell,
) -> None:
    names = machine_shell.out("env | cut -d= -f1 | sort | tr '\\n' ' '")
    assert names.split() == "HOME LANG LOGNAME PATH PWD SHELL SHLVL TERM USER".split()
    assert "UID" not in machine_shell.out("export -p; printenv")
    assert machine_shell.out("A=1 env B=2 bash -c 'echo $A$B'; env -i C=3 env") == "12\nC=3\n"


def test_os_release_names_debian(machine_shell: MachineShell) -> None:
    assert machine_shell.out(". /etc/os-release; echo $PRETTY_NAME; cat /etc/debian_version") == (
        "Debian GNU/Linux 12 (bookworm)\n12.8\n"
    )
    assert machine_shell.out("readlink /etc/os-release /bin") == "../usr/lib/os-release\nusr/bin\n"


def test_memory_disk_and_processors_agree(make_machine: MakeMachine) -> None:
    shell = make_machine(machine=Machine(cpus=4, memory_kib=8_000_000, disk_kib=20_000_000))
    assert shell.out("nproc; grep -c ^processor /proc/cpuinfo") == "4\n4\n"
    assert shell.out("free | awk '/Mem:/{print $2}'; awk '/MemTotal/{print $2}' /proc/meminfo") == (
        "8000000\n8000000\n"
    )
    assert shell.out("df -T / | wc -l; df / | awk 'NR==2{print $1,$2,$6}'") == (
        "2\noverlay 20000000 /\n"
    )


def test_free_and_df_are_laid_out_as_procps_and_coreutils_do(machine_shell: MachineShell) -> None:
    assert machine_shell.out("df -P / | head -n 1; df -T / | tail -n 1; df -h /dev/shm") == (
        "Filesystem     1024-blocks    Used Available Capacity Mounted on\n"
        "overlay        overlay  40972512 3124880  35799007   9% /\n"
        "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M     0   64M   0% /dev/shm\n"
    )
    assert machine_shell.out("free -h; df -h /") == (
        "               total        used        free      shared  buff/cache   available\n"
        "Mem:           3.8Gi       548Mi       2.7Gi       3.2Mi       744Mi       3.3Gi\n"
        "Swap:             0B          0B          0B\n"
        "Filesystem      Size  Used Avail Use% Mounted on\n"
        "overlay          40G  3.0G   35G   9% /\n"
    )


def test_uptime_follows_the_clock(machine_shell: MachineShell) -> None:
    assert machine_shell.out("uptime; sleep 3600; uptime; cat /proc/uptime | cut -d. -f1") == (
        " 09:00:00 up 1 day, 1 min,  0 user,  load average: 0.00, 0.01, 0.00\n"
        " 10:00:00 up 1 day,  1:01,  0 user,  load average: 0.00, 0.01, 0.00\n86512\n"
    )
    assert machine_shell.out("cat /proc/uptime | cut -d. -f1; uptime -p") == (
        "90112\nup 1 day, 1 hour, 1 minute\n"
    )


def test_ps_shows_one_shell_and_itself(machine_shell: MachineShell) -> None:
    assert machine_shell.out("ps aux") == (
        "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
        "root           1  0.0  0.1   4188  3456 ?        Ss   Mar01   0:00 bash\n"
        "root          12  0.0  0.1   8100  4096 ?        R    09:00   0:00 ps aux\n"
    )
    assert machine_shell.out("ps -p $$ -o pid= -o comm=; pgrep bash") == "      1 bash\n1\n"
    assert machine_shell.fails("pgrep nginx") == ("", 1)


def test_what_the_embedded_shell_has_and_the_machine_has_not_is_missing(
    machine_shell: MachineShell,
) -> None:
    assert machine_shell.fails("curl -s x; csv z") == (
        "bash: line 1: curl: command not found\nbash: line 1: csv: command not found\n",
        127,
    )
    assert machine_shell.fails("command -v curl") == ("", 1)
    assert machine_shell.fails("which curl wget") == ("", 1)
    assert machine_shell.fails("type curl") == ("bash: line 1: type: curl: not found\n", 1)


@pytest.mark.parametrize("name", ["hg", "node", "docker", "pip", "bc", "tput", "dpkg", "help"])
def test_a_command_nobody_has_gets_no_advice(machine_shell: MachineShell, name: str) -> None:
    assert machine_shell.fails(name) == (f"bash: line 1: {name}: command not found\n", 127)


def test_archivers_in_a_format_of_the_embedded_shell_are_not_there(
    machine_shell: MachineShell,
) -> None:
    # What they write no other program reads, and they read nothing that others wrote.
    found = "command -v zip; type -P unzip; which zip; ls /usr/bin | grep -w zip; compgen -c unzip"
    assert machine_shell.fails(found) == ("", 1)
    said = "bash: line 1: {}: command not found\n".format
    assert machine_shell.fails("zip -q a.zip f") == (said("zip"), 127)
    assert machine_shell.fails("sh -c 'unzip -l a.zip'") == (said("unzip"), 127)
    assert machine_shell.fails("env zip a") == ("env: 'zip': No such file or directory\n", 127)
    assert machine_shell.fails("xargs zip a <<< f") == (
        "xargs: zip: No such file or directory\n",
        127,
    )


def test_commands_are_found_where_debian_keeps_them(machine_shell: MachineShell) -> None:
    assert machine_shell.out("which ls date; command -v grep; type -P id; type cat") == (
        "/usr/bin/ls\n/usr/bin/date\n/usr/bin/grep\n/usr/bin/id\ncat is /usr/bin/cat\n"
    )
    assert machine_shell.out("/bin/echo a; /usr/bin/id -un; echo b | /bin/cat") == "a\nroot\nb\n"
    assert machine_shell.out("head -c 4 /bin/ls | od -An -c") == " 177   E   L   F\n"


def test_every_program_can_be_run() -> None:
    embedded = {line.split()[1] for line in Bash().execute_sync("enable").stdout.splitlines()}
    known = embedded | set(commands_of(Machine())) | SHELLS | set(SCRIPTS)
    assert [name for name in COMMAND_NAMES if name not in known] == []


def test_every_command_of_the_embedded_shell_is_placed() -> None:
    builtins = set(Bash().execute_sync("compgen -b").stdout.split())
    embedded = {line.split()[1] for line in Bash().execute_sync("enable").stdout.splitlines()}
    assert sorted(embedded - builtins - set(COMMAND_NAMES) - MISSING) == []


def test_version_texts_are_the_packages(machine_shell: MachineShell) -> None:
    script = (
        "for x in ls sed tar find; do $x --version | head -n 1; done; grep --version | head -n 1"
    )
    assert machine_shell.out(script) == (
        "ls (GNU coreutils) 9.1\nsed (GNU sed) 4.9\ntar (GNU tar) 1.34\nfind (GNU findutils) 4.9.0\n"
        "grep (GNU grep) 3.8\n"
    )
    assert machine_shell.out("bash --version | head -n 1; x=$(bash --version); echo ${#x}") == (
        "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n307\n"
    )


def test_version_texts_reach_files_and_pipes_whole(machine_shell: MachineShell) -> None:
    script = "/usr/bin/tar --version > f; tar --version | cmp - f && wc -l < f; tail -c 8 f"
    assert machine_shell.out(script + "; sed --version | grep -o '[0-9][.][0-9]' | sed 1q") == (
        "5\nby law.\n4.9\n"
    )


def test_apt_is_there_and_has_no_network(machine_shell: MachineShell) -> None:
    result = machine_shell.run("apt-get install -y nginx")
    assert (result.stderr, result.exit_code) == ("E: Unable to locate package nginx\n", 100)
    result = machine_shell.run("apt-get update")
    assert "Temporary failure resolving 'ftp.debian.org'" in result.stderr
    assert machine_shell.out("apt-get install bash | tail -n 2") == (
        "bash is already the newest version (5.2.15-2+b7).\n"
        "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"
    )
    assert machine_shell.out("apt list bash 2>/dev/null") == (
        "Listing...\nbash/now 5.2.15-2+b7 amd64 [installed,local]\n"
    )


def test_the_image_is_lean_and_has_the_right_modes() -> None:
    tree = base_tree(Machine(), CLOCK_US, MemoryBlobs())
    assert len(tree) <= 72
    modes = {path: oct(tree[path].mode) for path in ("/tmp", "/root", "/etc/shadow", "/usr")}
    assert modes == {"/tmp": "0o1777", "/root": "0o700", "/etc/shadow": "0o640", "/usr": "0o755"}
    assert min(entry.mtime_us for entry in tree.values()) > 0


def test_equal_machines_share_their_programs() -> None:
    assert system_mounts(("ls",)) is system_mounts(("ls",))


def test_packages_are_sorted_and_own_each_command_once() -> None:
    names = [package.name for package in PACKAGES]
    assert names == sorted(names)
    assert len(set(COMMAND_NAMES)) == len(COMMAND_NAMES)


def test_listings_hold_nothing_of_the_embedded_shell(machine_shell: MachineShell) -> None:
    assert machine_shell.out("ls /usr/bin | grep -cvE '^[a-z0-9_.[-]+$'; true") == "0\n"
    assert set(machine_shell.out("ls /proc /proc/self").split()) >= {"cpuinfo", "status", "fd"}
    assert not re.search(r"home|tmp", machine_shell.out("ls /usr/bin /proc /dev"))
