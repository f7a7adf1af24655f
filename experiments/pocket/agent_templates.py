"""Templates of the shell tasks that the pocket agent is trained on and tested with.

A template fills in a `Draft`: files that are there, what is asked, what must hold at the end, and the
commands of an expert. Which templates are held out was fixed before any score was looked at: each is a
new combination of two jobs that the train templates teach apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from experiments.pocket.script import FOLDERS, STEMS, WORDS

ANSWER: Final = "answer.txt"
NOTE: Final = "note.txt"
KEYS: Final = ("port", "size", "color", "level", "mode", "speed", "user", "host")


class Draft:
    """A task in the making. All choices come from `random`; no name or word is given out twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.files: dict[str, str | None] = {}
        """What is there at the start, by path relative to the working directory; `None` is a folder."""
        self.goals: list[dict[str, Any]] = []
        """Goals of the scenario, with paths relative to the working directory."""
        self.commands: list[str] = []
        self.instruction = ""
        self._stems = random.sample(STEMS, len(STEMS))
        self._folders = random.sample(FOLDERS, len(FOLDERS))
        self._words = random.sample(WORDS, len(WORDS))

    def name(self) -> str:
        return f"{self._stems.pop()}.txt"

    def word(self) -> str:
        return self._words.pop()

    def folder(self) -> str:
        return self._folders.pop()

    def given(self, *lines: str) -> str:
        """A file that is there at the start; its name."""
        name = self.name()
        self.files[name] = "".join(f"{line}\n" for line in lines or (self.word(),))
        return name

    def must_say(self, name: str, *lines: str) -> None:
        self.goals.append({"file": name, "equals": "".join(f"{line}\n" for line in lines)})

    def must_be(self, name: str, *, there: bool) -> None:
        self.goals.append({"file": name, "exists": there})


Job = Callable[[Draft], str]
"""Writes files, goals and commands of one job into a draft; gives what is asked, as a clause."""


def create(d: Draft) -> str:
    name, word = d.name(), d.word()
    d.must_say(name, word)
    d.commands.append(f"echo {word} > {name}")
    return f"create {name} with the text {word}"


def append(d: Draft) -> str:
    old, new = d.word(), d.word()
    name = d.given(old)
    d.must_say(name, old, new)
    d.commands.append(f"echo {new} >> {name}")
    return f"append {new} to {name}"


def copy(d: Draft) -> str:
    word, target = d.word(), d.name()
    name = d.given(word)
    d.must_say(name, word)
    d.must_say(target, word)
    d.commands.append(f"cp {name} {target}")
    return f"copy {name} to {target}"


def rename(d: Draft) -> str:
    word, target = d.word(), d.name()
    name = d.given(word)
    d.must_be(name, there=False)
    d.must_say(target, word)
    d.commands.append(f"mv {name} {target}")
    return f"rename {name} to {target}"


def delete(d: Draft) -> str:
    name = d.given()
    d.must_be(name, there=False)
    d.commands.append(f"rm {name}")
    return f"delete {name}"


def make_folder(d: Draft) -> str:
    folder = d.folder()
    d.goals.append({"command": f"test -d {folder}"})
    d.commands.append(f"mkdir {folder}")
    return f"make the folder {folder}"


def move_into(d: Draft) -> str:
    word, folder = d.word(), d.folder()
    name = d.given(word)
    d.files[folder] = None
    d.must_be(name, there=False)
    d.must_say(f"{folder}/{name}", word)
    d.commands.append(f"mv {name} {folder}")
    return f"move {name} into the folder {folder}"


def find(d: Draft) -> str:
    words = [d.word() for _ in range(3)]
    names = [d.given(word) for word in words]
    which = d.random.randrange(3)
    d.must_say(ANSWER, names[which])
    d.commands += [f"grep -l {words[which]} *", f"echo {names[which]} > {ANSWER}"]
    return f"put the name of the file that contains {words[which]} into {ANSWER}"


def count(d: Draft) -> str:
    lines = d.random.randint(1, 6)
    name = d.given(*(d.word() for _ in range(lines)))
    d.must_say(ANSWER, str(lines))
    d.commands += [f"wc -l {name}", f"echo {lines} > {ANSWER}"]
    return f"put the number of lines of {name} into {ANSWER}"


def last_line(d: Draft) -> str:
    words = [d.word() for _ in range(d.random.randint(2, 3))]
    name = d.given(*words)
    d.must_say(ANSWER, words[-1])
    d.commands += [f"cat {name}", f"echo {words[-1]} > {ANSWER}"]
    return f"put the last line of {name} into {ANSWER}"


def look_up(d: Draft) -> str:
    values = {key: d.word() for key in d.random.sample(KEYS, 3)}
    name = d.given(*(f"{key}={value}" for key, value in values.items()))
    key = d.random.choice(list(values))
    d.must_say(ANSWER, values[key])
    d.commands += [f"cat {name}", f"echo {values[key]} > {ANSWER}"]
    return f"put the {key} of {name} into {ANSWER}"


def change_value(d: Draft) -> str:
    values = {key: d.word() for key in d.random.sample(KEYS, 2)}
    name = d.given(*(f"{key}={value}" for key, value in values.items()))
    key, new = d.random.choice(list(values)), d.word()
    d.commands += [f"cat {name}", f"sed -i s/{values[key]}/{new}/ {name}"]
    values[key] = new
    d.must_say(name, *(f"{key}={value}" for key, value in values.items()))
    return f"set {key} to {new} in {name}"


ACTIONS: Final[Mapping[str, Job]] = {
    "create": create,
    "append": append,
    "copy": copy,
    "rename": rename,
    "delete": delete,
    "make-folder": make_folder,
    "move-into": move_into,
}
"""Jobs that the instruction says all about."""

ERRANDS: Final[Mapping[str, Job]] = {
    "find": find,
    "count": count,
    "last-line": last_line,
    "look-up": look_up,
    "change-value": change_value,
}
"""Jobs whose second command depends on what the first one printed."""

Template = Callable[[Draft], None]


def single(job: Job) -> Template:
    """The job alone."""

    def write(d: Draft) -> None:
        d.instruction = sentence(job(d))

    return write


def pair(first: Job, second: Job) -> Template:
    """One job, then another."""

    def write(d: Draft) -> None:
        one = job_clause(first, d)
        d.instruction = f"{one} Then {second(d)}."

    return write


def note(job: Job) -> Template:
    """The instruction stands in a file."""

    def write(d: Draft) -> None:
        d.commands.append(f"cat {NOTE}")
        d.files[NOTE] = f"{sentence(job(d))}\n"
        d.instruction = f"Do what {NOTE} says."

    return write


def note_to_note(d: Draft) -> None:
    """The instruction stands in a file that another file names."""
    inner = d.name()
    d.commands += [f"cat {NOTE}", f"cat {inner}"]
    d.files[inner] = f"{sentence(create(d))}\n"
    d.files[NOTE] = f"Read {inner}.\n"
    d.instruction = f"Do what {NOTE} says."


def looks(d: Draft) -> None:
    """No task: files, and commands that print what is in them."""
    chance = d.random
    names: list[str] = []
    for _ in range(chance.randint(2, 4)):
        if chance.random() < 0.5:
            lines = [f"{key}={d.word()}" for key in chance.sample(KEYS, chance.randint(2, 3))]
        else:
            lines = [d.word() for _ in range(chance.randint(1, 3))]
        names.append(d.given(*lines))
    for _ in range(5):
        name = chance.choice(names)
        lines = str(d.files[name]).split()
        line = chance.choice(lines)
        if chance.random() < 0.2:
            words = " ".join(d.word() for _ in range(chance.randint(2, 5)))
            d.commands.append(f"echo {words}")
        elif "=" in line and chance.random() < 0.5:
            d.commands.append(f"grep {line.partition('=')[0]} {name}")
        elif chance.random() < 0.3:
            d.commands.append(f"tail -n 1 {name}")
        else:
            d.commands.append(f"cat {name}")


def job_clause(job: Job, d: Draft) -> str:
    return sentence(job(d))


def sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


FAMILIES: Final[Mapping[str, Mapping[str, Template]]] = {
    "action": {name: single(job) for name, job in ACTIONS.items()},
    "errand": {name: single(job) for name, job in ERRANDS.items()},
    "pair": {
        f"{one}+{two}": pair(ACTIONS[one], ACTIONS[two])
        for one in ACTIONS
        for two in ACTIONS
        if one != two
    },
    "note": {
        **{f"note:{name}": note(job) for name, job in ACTIONS.items()},
        "note:note": note_to_note,
    },
}
"""All templates of tasks by family and name."""

SESSIONS: Final[Mapping[str, Mapping[str, Template]]] = {"looks": {"looks": looks}}
"""Templates of sessions in which nothing is to be done, by family and name."""

HELD_OUT: Final = frozenset(
    (
        *("create+delete", "copy+append", "rename+make-folder", "delete+move-into"),
        *("make-folder+create", "move-into+rename", "append+copy", "note:rename"),
        "note:make-folder",
    )
)
"""Templates of which the agent sees no task in training."""
