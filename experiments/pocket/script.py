"""A short shell session as a template writes it: files that are there, and commands."""

from __future__ import annotations

from random import Random
from typing import Final

WORKDIR: Final = "/data"

STEMS: Final = tuple(
    "ant bat bee cod cow crab crow deer dove duck elk fox frog goat hare hawk hen lamb lark lion moth"
    " mule newt owl pony seal swan toad wolf wren".split()
)
FOLDERS: Final = tuple(
    "attic barn cabin cave dock farm fort hall hut inn mill port shed tower".split()
)
VARIABLES: Final = tuple("a b c k n v w x y z".split())
WORDS: Final = tuple(
    "red blue pink gold grey teal lime plum fig pear kiwi rice corn bean salt leek mint sage rose lily"
    " fern moss oak elm ash pine palm reed iron zinc lead silk wool felt cork clay sand rain snow hail"
    " wind fog sun moon star noon dusk dawn east west".split()
)


class Script:
    """What a template fills in. All choices come from `random`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.files: dict[str, str] = {}
        """What is there at the start, by path relative to the working directory."""
        self.commands: list[str] = []
        self._stems = random.sample(STEMS, len(STEMS))
        self._folders = random.sample(FOLDERS, len(FOLDERS))
        self._variables = random.sample(VARIABLES, len(VARIABLES))
        self._words = random.sample(WORDS, len(WORDS))

    def name(self) -> str:
        """A file name that was not given out before."""
        return self._stems.pop()

    def folder(self) -> str:
        """A folder name that was not given out before."""
        return self._folders.pop()

    def variable(self) -> str:
        """A variable name that was not given out before."""
        return self._variables.pop()

    def word(self) -> str:
        """A word that was not given out before."""
        return self._words.pop()

    def words(self, least: int = 1, most: int = 1) -> str:
        """Some words in a row."""
        return " ".join(self.word() for _ in range(self.random.randint(least, most)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def given(self, lines: int = 0) -> str:
        """A file that is there at the start: some lines of one word each, or one or two longer ones."""
        name = self.name()
        widest = 1 if lines else 5
        lines = lines or self.random.randint(1, 2)
        self.files[name] = "".join(f"{self.words(1, widest)}\n" for _ in range(lines))
        return name

    def line(self, least: int, most: int) -> str:
        """A file that is there at the start, with some words in one line; its name."""
        name = self.name()
        self.files[name] = f"{self.words(least, most)}\n"
        return name

    def made(self, name: str = "") -> str:
        """A file that a command makes; its name."""
        name = name or self.name()
        self.run(f"echo {self.words()} > {name}")
        return name

    def some(self) -> str:
        """A file that is there, from the start or made by a command; its name."""
        return self.given() if self.chance(0.5) else self.made()

    def beside(self, share: float = 0.5) -> None:
        """Now and then a file that has nothing to do with the rest."""
        if self.chance(share):
            self.some()

    def run(self, command: str) -> None:
        self.commands.append(command)
