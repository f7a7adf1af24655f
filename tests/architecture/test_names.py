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

BARE: set[str] = {
    "agentworld_sim/engines/shell/execution.py: Executed",
    "agentworld_sim/engines/shell/line_differences.py: kept",
    "agentworld_sim/engines/shell/live_files.py: _moved",
    "agentworld_sim/engines/shell/live_files.py: quoted",
    "agentworld_sim/engines/shell/live_machine.py: embedded",
    "agentworld_sim/engines/shell/syntax_errors.py: _unexpected",
    "agentworld_sim/engines/shell/unknown_commands.py: Misnamed",
    "agentworld_sim/engines/shell/unknown_commands.py: Unanswered",
    "agentworld_sim/imagination/prompt_set.py: shipped",
    "agentworld_sim/imagination/world_model.py: limited",
    "agentworld_sim/llm/_stream.py: broken_off",
    "agentworld_sim/llm/client.py: served",
    "agentworld_sim/redaction/environment.py: masked",
    "agentworld_sim/redaction/records.py: _said",
    "agentworld_sim/redaction/records.py: _taken",
    "agentworld_sim/schema/compiled.py: compiled",
    "fixtures/agentworld_fixtures/_failure_report.py: _related",
    "fixtures/agentworld_fixtures/_guard/_interception.py: checked",
    "fixtures/agentworld_fixtures/_session_records.py: _unused",
    "graphs/agentworld_graphs/_scripted.py: _scripted",
    "graphs/agentworld_graphs/_scripted.py: unused",
    "graphs/agentworld_graphs/_simulate.py: _unused",
    "graphs/agentworld_graphs/ready/red_team.py: Altered",
    "mcp_shim/agentworld_mcp_shim/_handlers.py: _called",
    "mcp_shim/agentworld_mcp_shim/_http/_app.py: _Counted",
    "mcp_shim/agentworld_mcp_shim/_http/_app.py: _Refused",
    "mcp_shim/agentworld_mcp_shim/_http/_app.py: _replayed",
    "mcp_shim/agentworld_mcp_shim/_http/_app.py: _unauthorized",
    "mcp_shim/agentworld_mcp_shim/_http/_dispatch.py: HandedOver",
    "mcp_shim/agentworld_mcp_shim/_http/_main.py: _spoken",
    "mcp_shim/agentworld_mcp_shim/_http/_metrics.py: called",
    "mcp_shim/agentworld_mcp_shim/_http/_metrics.py: refused",
    "mcp_shim/agentworld_mcp_shim/_http/_sessions.py: _signed",
    "mcp_shim/agentworld_mcp_shim/_http/_workers.py: _buried",
    "mcp_shim/agentworld_mcp_shim/_http/_workers.py: heard",
    "mcp_shim/agentworld_mcp_shim/_mirrors.py: seen_in",
    "mcp_shim/agentworld_mcp_shim/_process.py: _started",
    "mcp_shim/agentworld_mcp_shim/_process.py: closed",
    "mcp_shim/agentworld_mcp_shim/_process.py: ended",
    "mcp_shim/agentworld_mcp_shim/_stdio.py: _unanswered",
    "mcp_shim/agentworld_mcp_shim/_stdio.py: told",
    "mcp_shim/agentworld_mcp_shim/_upstream_connection.py: closed",
    "mcp_shim/agentworld_mcp_shim/_worlds.py: _opened",
    "mcp_shim/agentworld_mcp_shim/_worlds.py: _settled",
    "trainers/agentworld_trainers/data/_prepared.py: _prepared",
    "trainers/agentworld_trainers/recipes/schema.py: Supervised",
    "trainers/agentworld_trainers/stages/_supervised.py: _supervised",
}
"""What is left to be renamed; do not add to it."""

REPEATED: set[str] = {
    "_agent.py",
    "_answers.py",
    "_app.py",
    "_keys.py",
    "_run.py",
    "_serve.py",
    "_settings.py",
    "_snapshot.py",
    "deepagents.py",
    "errors.py",
    "execution.py",
    "gemini_cli.py",
    "langchain.py",
    "plain.py",
    "session.py",
    "tool_specs.py",
}
"""File names that are left to be made unique; do not add to them."""


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
    return [file for folder in FOLDERS.values() for file in sorted(folder.rglob("*.py"))]


def test_no_name_is_a_bare_participle() -> None:
    bare = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files()
        for name in (file.stem, *names_in(ast.parse(file.read_text(encoding="utf-8"))))
        if is_bare(name)
    }
    assert bare == BARE


def test_no_file_name_occurs_twice() -> None:
    count = Counter(file.name for file in files() if file.name not in NAMES_AGAIN)
    assert {name for name, times in count.items() if times > 1} == REPEATED
