"""Names that a stranger can search for: no bare participles, and no file name twice."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.imports import FOLDERS, ROOT

IRREGULAR = set(
    "begun broken brought chosen done drawn felt found given gone grown heard held hidden kept known laid"
    " left lost made meant met paid said seen sent shown spoken stuck taken taught thrown told torn"
    " understood won worn written".split()
)
"""Participles that do not end in -ed and are no verb or noun of the field."""

NO_PARTICIPLE = set(
    "bed embed exceed feed hundred need proceed red seed shed speed succeed".split()
)
"""Words that end in -ed."""

PARTICLES = set("as at by down for from in into of off on out over to under up with".split())
"""Words that leave a participle as bare as it was: `shown_as`."""

PROPERTIES = set("property cached_property override".split())
"""Decorators of what may be named so: what is true of a thing (`closed`), and what others have named."""

NAMES_AGAIN = set("__init__.py __main__.py _command.py _main.py plugin.py".split())
"""Files that say the same in every package: its entry, its commands, its plugin."""

TOOLKITS: set[str] = set("deepagents.py gemini_cli.py langchain.py plain.py".split())
"""Files named like a maker of tools, in `toolkits` (its tools) and in `engines/shell/toolkits` (what answers them)."""


def is_participle(word: str) -> bool:
    ends = word.endswith("ed") and len(word) > 3 and word not in NO_PARTICIPLE
    return ends or word in IRREGULAR


def is_bare(name: str) -> bool:
    """Whether a name says that something was done, and not what it is or does."""
    words = [word.lower() for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    return bool(words) and is_participle(words[0]) and set(words[1:]) <= PARTICLES


def names_in(tree: ast.Module) -> Iterator[str]:
    """The functions, methods and classes of a module, those inside of functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
            if not decorators & PROPERTIES:
                yield node.name


def files() -> list[Path]:
    """All but the stand-ins for modules of Python's own library, which have its names."""
    found = [file for folder in FOLDERS.values() for file in sorted(folder.rglob("*.py"))]
    return [file for file in found if file.parent.name != "guest_library"]


def test_no_name_is_a_bare_participle() -> None:
    bare = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files()
        for name in (file.stem, *names_in(ast.parse(file.read_text(encoding="utf-8"))))
        if is_bare(name)
    }
    assert not bare


def test_no_file_name_occurs_twice() -> None:
    count = Counter(file.name for file in files() if file.name not in NAMES_AGAIN)
    allowed: dict[str, int] = dict.fromkeys(TOOLKITS, 2)
    assert {name for name, times in count.items() if times > allowed.get(name, 1)} == set()
