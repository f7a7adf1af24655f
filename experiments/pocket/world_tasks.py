"""Templates of short shell sessions: what the pocket world model learns from, and is tested on.

A template is a function that writes one session into a `Script`. The test templates are compositions of
what the train templates teach one by one; no train template puts these together. The test templates were
fixed before any score was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from experiments.pocket.mixed import mixed
from experiments.pocket.script import WORKDIR, Script

Template = Callable[[Script], None]


def create_and_show(s: Script) -> None:
    first = s.made()
    second = s.made()
    s.run(f"cat {first}")
    s.beside()
    s.run(f"cat {second}")


def append(s: Script) -> None:
    name = s.some()
    s.beside(0.3)
    s.run(f"echo {s.words()} >> {name}")
    s.run(f"cat {name}")


def append_to_nothing(s: Script) -> None:
    s.beside()
    name = s.name()
    s.run(f"echo {s.words()} >> {name}")
    s.beside(0.3)
    s.run(f"cat {name}")


def overwrite(s: Script) -> None:
    name = s.some()
    s.run(f"cat {name}")
    s.run(f"echo {s.words()} > {name}")
    s.beside(0.3)
    s.run(f"cat {name}")


def copy(s: Script) -> None:
    source, target = s.some(), s.name()
    s.beside(0.4)
    s.run(f"cp {source} {target}")
    s.run(f"cat {target}")
    if s.chance(0.5):
        s.run(f"cat {source}")


def move(s: Script) -> None:
    source, target = s.some(), s.name()
    s.beside(0.4)
    s.run(f"mv {source} {target}")
    shown = [target, source]
    s.random.shuffle(shown)
    for name in shown:
        s.run(f"cat {name}")


def remove(s: Script) -> None:
    name, other = s.some(), s.some()
    s.run(f"rm {name}")
    s.run(f"cat {s.random.choice((name, other))}")
    s.run(f"cat {name}")


def missing(s: Script) -> None:
    name, other = s.some(), s.name()
    s.run(f"cat {other}")
    s.run(f"cat {name}")
    s.run(f"{s.random.choice(('rm', 'cat'))} {other}")


def listing(s: Script) -> None:
    for _ in range(s.random.randint(2, 3)):
        s.some()
    s.run("ls")
    s.run(f"touch {s.name()}")
    s.run("ls")


def listing_after_removal(s: Script) -> None:
    names = [s.some() for _ in range(3)]
    s.run("ls")
    s.run(f"rm {s.random.choice(names)}")
    s.run("ls")


def given_files(s: Script) -> None:
    names = [s.line(2, 8) for _ in range(s.random.randint(1, 3))]
    for _ in range(s.random.randint(1, 4)):
        s.run(f"cat {s.random.choice(names)}")


def given_lines(s: Script) -> None:
    names = [s.given(s.random.randint(2, 6)) for _ in range(s.random.randint(1, 2))]
    for _ in range(s.random.randint(1, 3)):
        s.run(f"cat {s.random.choice(names)}")


def head(s: Script) -> None:
    names = [s.given(s.random.randint(3, 5)) for _ in range(2)]
    for name in names:
        s.run(f"head -n {s.random.randint(1, 3)} {name}")
    s.run(f"cat {s.random.choice(names)}")


def tail(s: Script) -> None:
    names = [s.given(s.random.randint(3, 5)) for _ in range(2)]
    for name in names:
        s.run(f"tail -n {s.random.randint(1, 2)} {name}")
    s.run(f"cat {s.random.choice(names)}")


def count_lines(s: Script) -> None:
    names = [s.given(s.random.randint(1, 6)) for _ in range(2)]
    s.random.shuffle(names)
    for name in names:
        s.run(f"wc -l {name}")
    s.run(f"cat {names[0]}")


def grep(s: Script) -> None:
    name = s.given(s.random.randint(3, 5))
    other = s.given(2)
    lines = s.files[name].split()
    s.run(f"grep {s.random.choice(lines)} {name}")
    s.run(f"grep {s.random.choice((s.word(), *lines))} {name}")
    s.run(f"grep {s.random.choice(lines)} {other}")


def grep_status(s: Script) -> None:
    name = s.given(s.random.randint(2, 4))
    s.run(f"grep {s.random.choice((s.word(), *s.files[name].split()))} {name}")
    s.run("echo $?")
    s.run(f"grep {s.random.choice((s.word(), *s.files[name].split()))} {name}")
    s.run("echo $?")


def sort(s: Script) -> None:
    names = [s.given(s.random.randint(2, 4)) for _ in range(2)]
    for name in names:
        s.run(f"sort {name}")
    s.run(f"cat {s.random.choice(names)}")


def change_folder(s: Script) -> None:
    folder, other = s.folder(), s.folder()
    s.run(f"mkdir {folder} {other}")
    s.run("pwd")
    s.run(f"cd {folder}")
    s.run("pwd")
    s.run(s.random.choice(("cd ..", f"cd ../{other}", "cd /")))
    s.run("pwd")


def no_such_folder(s: Script) -> None:
    folder = s.folder()
    s.beside()
    s.run(f"cd {folder}")
    s.run(f"mkdir {folder}")
    s.run(f"cd {folder}")
    s.run("pwd")


def folder_exists(s: Script) -> None:
    folder, other = s.folder(), s.folder()
    s.run(f"mkdir {folder}")
    s.run(f"mkdir {s.random.choice((folder, other))}")
    s.run("ls")


def folder_removed(s: Script) -> None:
    folder, other = s.folder(), s.folder()
    s.run(f"mkdir {folder} {other}")
    s.run(f"rmdir {folder}")
    s.run("ls")
    s.run(f"rmdir {s.random.choice((folder, other))}")


def file_in_folder(s: Script) -> None:
    folder, name = s.folder(), s.name()
    s.run(f"mkdir {folder}")
    s.run(f"echo {s.words()} > {folder}/{name}")
    s.beside(0.3)
    s.run(f"cat {folder}/{name}")
    s.run(f"ls {folder}")


def folder_not_empty(s: Script) -> None:
    folder, name = s.folder(), s.name()
    s.run(f"mkdir {folder}")
    if s.chance(0.7):
        s.run(f"touch {folder}/{name}")
    s.run(f"rmdir {folder}")
    s.run(f"ls {folder}")


def variable(s: Script) -> None:
    one, two = s.variable(), s.variable()
    s.run(f"{one}={s.word()}")
    s.run(f"{two}={s.word()}")
    s.run(f"echo ${s.random.choice((one, two))}")
    s.run(f"echo {s.word()} ${one}")
    s.run(f"echo ${two} ${one}")


def variable_changed(s: Script) -> None:
    one = s.variable()
    s.run(f"{one}={s.word()}")
    s.run(f"echo ${one}")
    s.run(f"{one}={s.word()}")
    s.beside(0.3)
    s.run(f"echo ${one}")


def exit_status(s: Script) -> None:
    name, other = s.some(), s.name()
    for asked in s.random.sample((name, other), 2):
        s.run(f"cat {asked}")
        s.run("echo $?")


def file_test(s: Script) -> None:
    name, other = s.some(), s.name()
    for asked in s.random.sample((name, other), 2):
        s.run(f"test -f {asked} && echo {s.word()} || echo {s.word()}")
    s.run(f"rm {name}")
    s.run(f"test -f {name} && echo {s.word()} || echo {s.word()}")


def pipe(s: Script) -> None:
    name = s.given(s.random.randint(2, 4))
    s.run(f"echo {s.words(2, 5)} | cat")
    s.run(f"cat {name} | head -n 1")
    s.run(f"cat {name} | tail -n 1")


def loop(s: Script) -> None:
    one = s.variable()
    for _ in range(3):
        s.run(f"for {one} in {s.words(3, 6)}; do echo ${one}; done")


def loop_beside(s: Script) -> None:
    one = s.variable()
    for _ in range(2):
        s.run(f"for {one} in {s.words(2, 4)}; do echo {s.word()} ${one}; done")
    s.some()


def either(s: Script) -> None:
    name, other = s.some(), s.name()
    for asked in s.random.sample((name, other), 2):
        s.run(f"cat {asked} {s.random.choice(('&&', '||'))} echo {s.word()}")


def two_files(s: Script) -> None:
    names = [s.some() for _ in range(s.random.randint(2, 3))]
    for _ in range(s.random.randint(1, 2)):
        s.run("cat " + " ".join(s.random.sample(names, 2)))


def words(s: Script) -> None:
    for _ in range(3):
        s.run(f"echo {s.words(2, 7)}")
    s.run(f"echo {s.words(1, 3)}; echo {s.words(1, 3)}")


def first_line_kept(s: Script) -> None:
    name, target = s.given(3), s.name()
    s.run(f"{s.random.choice(('head', 'tail'))} -n 1 {name} > {target}")
    s.beside(0.3)
    s.run(f"cat {target}")


# Tests: compositions.


def copy_then_append(s: Script) -> None:
    source, target = s.some(), s.name()
    s.run(f"cp {source} {target}")
    s.run(f"echo {s.words()} >> {target}")
    s.run(f"cat {target}")
    s.run(f"cat {source}")


def move_then_list(s: Script) -> None:
    source, target = s.some(), s.name()
    s.some()
    s.run(f"mv {source} {target}")
    s.run("ls")


def append_then_tail(s: Script) -> None:
    name = s.some()
    s.run(f"echo {s.words()} >> {name}")
    s.run(f"tail -n 1 {name}")
    s.run(f"head -n 1 {name}")


def copy_into_folder(s: Script) -> None:
    folder, name = s.folder(), s.some()
    s.run(f"mkdir {folder}")
    s.run(f"cp {name} {folder}")
    s.run(f"ls {folder}")
    s.run(f"cat {folder}/{name}")


def variable_to_file(s: Script) -> None:
    one, name = s.variable(), s.name()
    s.run(f"{one}={s.word()}")
    s.run(f"echo ${one} > {name}")
    s.beside(0.3)
    s.run(f"cat {name}")


def removed_status(s: Script) -> None:
    name = s.some()
    s.run(f"rm {name}")
    s.run(f"cat {name}")
    s.run("echo $?")


def loop_over_files(s: Script) -> None:
    one = s.variable()
    names = [s.some() for _ in range(2)]
    s.run(f"for {one} in {' '.join(names)}; do cat ${one}; done")


def grep_appended(s: Script) -> None:
    name = s.given(2)
    word = s.word()
    s.run(f"echo {word} >> {name}")
    s.run(f"grep {s.random.choice((word, *s.files[name].split()))} {name}")
    s.run(f"grep {word} {name}")


def write_in_folder(s: Script) -> None:
    folder, name = s.folder(), s.name()
    s.run(f"mkdir {folder}")
    s.run(f"cd {folder}")
    s.run(f"echo {s.words()} > {name}")
    s.run(f"cat {name}")
    s.run("cd ..")
    s.run(f"cat {folder}/{name}")


def sort_then_first(s: Script) -> None:
    name = s.given(s.random.randint(2, 4))
    s.run(f"sort {name} | {s.random.choice(('head', 'tail'))} -n 1")
    s.run(f"cat {name}")


def copy_then_overwrite(s: Script) -> None:
    source, target = s.some(), s.name()
    s.run(f"cp {source} {target}")
    s.run(f"echo {s.words()} > {source}")
    s.run(f"cat {target}")
    s.run(f"cat {source}")


def move_twice(s: Script) -> None:
    first, second, third = s.some(), s.name(), s.name()
    s.run(f"mv {first} {second}")
    s.run(f"mv {second} {third}")
    s.run(f"cat {third}")
    s.run(f"cat {second}")


def _named(*templates: Template) -> Mapping[str, Template]:
    return {template.__name__.replace("_", "-"): template for template in templates}


TRAIN: Final[Mapping[str, Template]] = _named(
    *(create_and_show, append, append_to_nothing, overwrite, copy, move, remove, missing),
    *(
        listing,
        listing_after_removal,
        given_files,
        given_lines,
        head,
        tail,
        count_lines,
        grep,
        grep_status,
    ),
    *(sort, change_folder, no_such_folder, folder_exists, folder_removed, file_in_folder),
    *(folder_not_empty, variable, variable_changed, exit_status, file_test, pipe, loop),
    *(loop_beside, either, two_files, words, first_line_kept, mixed),
)
"""What the model is trained on, by name."""

WEIGHTS: Final[Mapping[str, int]] = {
    "mixed": 60,
    "given-files": 25,
    "two-files": 8,
    "given-lines": 8,
    "sort": 6,
    "append": 4,
    "listing": 4,
    "words": 3,
    "loop": 3,
}
"""Sessions of a template for each one of another. To look something up is learned from these, which are
nothing else, and only if sessions are so many that they cannot be learned by heart."""

TEST: Final[Mapping[str, Template]] = _named(
    *(copy_then_append, move_then_list, append_then_tail, copy_into_folder, variable_to_file),
    *(removed_status, loop_over_files, grep_appended, write_in_folder, sort_then_first),
    *(copy_then_overwrite, move_twice),
)
"""What it is tested on, by name."""

__all__ = ["TEST", "TRAIN", "WEIGHTS", "WORKDIR", "Template"]
