"""The description of a world, the ways to read one, and the tools that it offers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    field_serializer,
    model_validator,
)

from agentworld_sim.controls import Control, SelectiveControl
from agentworld_sim.domains import domain
from agentworld_sim.errors import ScenarioError, nearest
from agentworld_sim.runtime.access import access_problem
from agentworld_sim.scenario._content import Directory, FileSpec, Goal
from agentworld_sim.scenario._internet import Address, FictionSpec, PageSpec
from agentworld_sim.scenario._sections import (
    AnswerSpec,
    ControlSpec,
    Limits,
    MachineSpec,
    ModelSpec,
    RoutesSpec,
    ToolEntry,
    ToolObject,
)
from agentworld_sim.scenario._sources import TASK_FILES, find_scenario, sibling_hint
from agentworld_sim.scenario._tree import (
    NameOnlyBlobs,
    TreeSource,
    path_conflicts,
    source_problems,
)
from agentworld_sim.scenario._types import (
    DEFAULT_CLOCK,
    DOMAINS,
    AbsolutePath,
    Domain,
    Instant,
    KeyedProblems,
    Natural,
    Problems,
    RelativePath,
    Slug,
    Strict,
    ToolName,
    mismatch,
    to_us,
)
from agentworld_sim.scenario.site_file import Site, SiteEntry, SiteUse
from agentworld_sim.scenario.tables import DescribedTable, OperationSpec, TableSpec
from agentworld_sim.toolkits import binding_for, toolkit
from agentworld_sim.types.files import Blobs, FileTree
from agentworld_sim.types.tools import Access, DomainName, ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.engines.shell.machine import Machine
    from agentworld_sim.ingest.folders import IngestResult
    from agentworld_sim.ports import PromptContext


def _one_of_each(domains: tuple[DomainName, ...]) -> tuple[DomainName, ...]:
    if not domains:
        raise mismatch(f"at least one of {', '.join(DOMAINS)}")
    repeated = sorted({name for name in domains if domains.count(name) > 1})
    if repeated:
        raise mismatch(f"each domain once; {', '.join(repeated)} is repeated")
    return domains


class Scenario(Strict):
    """A world's description: who the agent is, what is there, what is asked, how it is judged.

    It is a value: reading one touches no world. `load`, `parse` and `from_directory` raise
    `ScenarioError`; the constructor is pydantic's own.
    """

    schema_url: str | None = Field(default=None, alias="$schema", exclude=True, repr=False)
    """For editors; it has no meaning here."""
    name: Slug
    """A short name, in lower case."""
    description: str = ""
    """What the scenario is for, for people."""
    domains: Annotated[
        tuple[Domain, ...],
        Field(strict=False, json_schema_extra={"minItems": 1}),
        AfterValidator(_one_of_each),
    ]
    """The kinds of world it needs."""
    instruction: str = ""
    """What the agent is asked to do."""
    seed: Natural = 0
    """Where every random choice of the world starts."""
    clock: Instant = DEFAULT_CLOCK
    """The world's first moment, in UTC."""
    machine: MachineSpec = MachineSpec.model_construct()
    """The simulated machine."""
    files: Mapping[AbsolutePath, FileSpec] = Field(default_factory=dict[str, FileSpec])
    """Files by absolute path: the content itself, or a mapping."""
    files_from: RelativePath | None = None
    """A folder beside the scenario file, copied to the machine's working directory."""
    tools: tuple[ToolEntry, ...] = Field(default=(), strict=False)
    """Toolkits by name, and single tools."""
    access: Mapping[str, Access] = Field(default_factory=dict[str, Access])
    """How tools may be used, by name, pattern (`*`, `?`, `[…]`) or annotation (`@destructive`,
    `@read-only`, `@idempotent`, `@open-world`): simulate, real (whole names only) or refuse."""
    answers: Mapping[ToolName, AnswerSpec] = Field(default_factory=dict[str, AnswerSpec])
    """What tools answer, by tool name, before anything computes or imagines it: a text, or `value` (JSON),
    or `error`."""
    tables: Mapping[DescribedTable, TableSpec] = Field(default_factory=dict[str, TableSpec])
    """Tables of records by name: what is in them at the start, and what is not left to inference."""
    operations: Mapping[ToolName, OperationSpec] = Field(default_factory=dict[str, OperationSpec])
    """What tools do to which tables, by tool name, where it is not left to inference."""
    sites: tuple[SiteUse, ...] = Field(default=(), strict=False)
    """The web applications of its internet: by name, or with `file`, `hosts`, `user`. Their tables are tables of
    the world; `tables` may give them more `records`."""
    fiction: FictionSpec | None = None
    """The fictional world whose pages the search tools find."""
    pages: Mapping[Address, PageSpec] = Field(default_factory=dict[str, PageSpec])
    """Pages of its own that the search tools find, by their address."""
    routes: RoutesSpec = RoutesSpec.model_construct()
    """What is computed and what is imagined, where it is not left to the world."""
    model: ModelSpec = ModelSpec.model_construct()
    """The language world model, and what it is told."""
    controls: tuple[ControlSpec, ...] = Field(default=(), strict=False)
    """Perturbations that are enforced in code, the outermost first."""
    reference: JsonValue = Field(default=None, repr=False)
    """The hidden answer, for judging. No agent is ever shown it."""
    goals: tuple[Goal, ...] = Field(default=(), strict=False)
    """What must hold at the end; all of them."""
    limits: Limits = Limits.model_construct()
    """What the world may use."""

    _source: str = PrivateAttr(default="<scenario>")
    _base_dir: Path | None = PrivateAttr(default=None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario file, a folder that has a `scenario.yaml`, a shipped scenario, or the folder of a
        Harbor task (`task.toml`) or a Terminal-Bench task (`task.yaml`).

        Raises:
            ScenarioError: there is none, or it is invalid.
        """
        from agentworld_sim.scenario._document import MAX_BYTES, source_text

        file = find_scenario(path)
        if file.name in TASK_FILES:
            from agentworld_sim.scenario._task_folder import task_fields

            return cls._of_fields(task_fields(file.parent), str(file), file, file.parent)
        try:
            with open(file, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise ScenarioError(
                f"{file} cannot be read ({error.strerror}). Check its permissions."
            ) from error
        return cls.parse(source_text(data, str(file)), source=str(file), base_dir=file.parent)

    @classmethod
    def parse(
        cls, text: str, *, source: str = "<text>", base_dir: str | os.PathLike[str] | None = None
    ) -> Self:
        """Read the text of a scenario, YAML or JSON.

        Args:
            text: the content of a scenario file.
            source: its name in messages.
            base_dir: the folder that `from` and `files_from` are relative to.

        Raises:
            ScenarioError: it is invalid. The message lists every problem, up to ten.
        """
        # YAML takes its time, and a world that is made without a file needs none.
        from agentworld_sim.scenario._document import (
            Problem,
            problems_error,
            problems_of,
            read_document,
        )

        document = read_document(text, source)
        base = None if base_dir is None else Path(base_dir)
        problems = list(document.problems)
        scenario = None
        try:
            scenario = cls.model_validate(document.value)
        except ValidationError as error:
            problems += problems_of(error, document, cls)
        else:
            for key, message in source_problems(scenario.files, scenario.files_from, base):
                problems.append(Problem(document.place(key), key, message))
        if scenario is None or problems:
            raise problems_error(source, problems)
        if scenario.sites:
            sites = tuple(entry.with_definition(base) for entry in scenario.sites)
            scenario = scenario.model_copy(update={"sites": sites})
            scenario.site_uses()
        return scenario._with_place(source, base)

    @classmethod
    def from_directory(
        cls,
        directory: str | os.PathLike[str],
        *,
        name: str | None = None,
        instruction: str = "",
        domains: tuple[DomainName, ...] = ("terminal",),
        workdir: str = "/srv/app",
    ) -> Self:
        """A scenario whose files are those of a folder of yours, at `workdir`, with their times.

        Raises:
            ScenarioError: there is no such folder, or an argument is invalid.
        """
        folder = Path(directory)
        if not folder.is_dir():
            file = " A scenario file goes to `--scenario`, or `Scenario.load`." * folder.exists()
            raise ScenarioError(
                f"{str(folder)!r} is not a folder.{file or sibling_hint(folder)} Name the folder whose files "
                "the world should have."
            )
        fields = {
            "name": name or _slug(folder.resolve().name),
            "instruction": instruction,
            "domains": domains,
            "machine": {"workdir": workdir},
            "files_from": ".",
        }
        return cls._of_fields(fields, "from_directory", folder, folder)

    @classmethod
    def _of_fields(cls, fields: dict[str, Any], maker: str, source: Path, base: Path) -> Self:
        try:
            return cls.model_validate(fields)._with_place(str(source), base)
        except ValidationError as error:
            raise _problems_without_file(maker, error, cls) from error

    @property
    def source(self) -> str:
        """Where it was read from."""
        return self._source

    @property
    def base_dir(self) -> Path | None:
        """The folder that `from` and `files_from` are relative to."""
        return self._base_dir

    @property
    def clock_us(self) -> int:
        """The world's first moment, in microseconds since the epoch."""
        return to_us(self.clock)

    def initial_files(self, blobs: Blobs) -> IngestResult:
        """The files of the world's first moment, and what of the named folders was left out.

        Raises:
            ScenarioError: as `initial_tree`.
        """
        from agentworld_sim.ingest.folders import IngestResult

        source = self._tree_source()
        tree = source.build(blobs)
        sizes = [entry.size for entry in tree.values() if entry.kind == "file"]
        return IngestResult(tree, tuple(source.skipped), len(sizes), sum(sizes))

    def initial_tree(self, blobs: Blobs) -> FileTree:
        """The files of the world's first moment.

        Raises:
            ScenarioError: something to be copied is gone or unreadable, or a limit is exceeded.
        """
        return self._tree_source().build(blobs)

    def tree_over(self, tree: FileTree, files: Mapping[str, FileSpec], blobs: Blobs) -> FileTree:
        """A tree with more files, written as those of a scenario. A directory among them begins empty.

        Raises:
            ScenarioError: as `initial_tree`.
        """
        emptied = tuple(f"{path}/" for path, one in files.items() if isinstance(one, Directory))
        kept = {path: entry for path, entry in tree.items() if not path.startswith(emptied)}
        added = replace(self._tree_source(), files=files, files_from=None).build(blobs)
        return FileTree(kept).with_entries(added, directory_mtime_us=self.clock_us)

    def _tree_source(self) -> TreeSource:
        place, files = (self._source, self._base_dir, self.clock_us), (self.files, self.files_from)
        # A folder of the user's own, which no scenario file stands beside.
        keeps_times = self._base_dir is not None and self._source == str(self._base_dir)
        return TreeSource(*place, self.machine, *files, self.limits, keeps_times)

    def to_machine(self) -> Machine:
        """The machine of its worlds. It has internet where something answers there."""
        has_internet = bool(self.sites or self.pages or self.fiction)
        return replace(self.machine.to_machine(), has_internet=has_internet)

    def to_prompt_context(self) -> PromptContext:
        """What whoever imagines for its worlds is told."""
        from agentworld_sim.engines.shell import machine_sum

        prompt_context = self.model.to_prompt_context(self.instruction, self.machine.env)
        files_sum = machine_sum(self.to_machine())
        return replace(prompt_context, files_sum=files_sum, seed=self.seed)

    def site_uses(self) -> list[tuple[SiteEntry, Site | None]]:
        """The sites, each with what the scenario says of it; `None` for the one that is made from the tables.

        Raises:
            ScenarioError: two declare one table, or the scenario declares it otherwise.
        """
        found = [(entry, entry.to_site()) for entry in self.sites]
        owners: dict[str, str] = {}
        for name, owner in [(name, site.site) for _, site in found if site for name in site.tables]:
            if name in owners:
                raise ScenarioError(f"two sites have a table {name!r}: {owners[name]} and {owner}.")
            own = self.tables.get(name)
            if own is not None and own != TableSpec(records=own.records):
                raise ScenarioError(
                    f"tables.{name}: the site {owner!r} says what it is. Give it `records` alone."
                )
            owners[name] = owner
        return found

    def table_options(self) -> dict[str, Any]:
        """What the table engine takes: what it says of operations and of tables."""
        tables = {name: spec.to_table(name) for name, spec in self.tables.items()}
        for _, site in self.site_uses():
            # Their first records are in the world's first state.
            for name, spec in site.tables.items() if site is not None else ():
                tables[name] = replace(spec.to_table(name), records=())
        return {
            "operations": {name: spec.to_operation(name) for name, spec in self.operations.items()},
            "tables": tables,
        }

    def canonical(self) -> str:
        """Everything that makes the world what it is, as one line of JSON with sorted keys.

        Files stand for themselves with the hash of their content, wherever they come from, so the
        text is the same on every machine.
        """
        content = self.model_dump(
            mode="json",
            by_alias=True,
            # Where a model is served is no part of the world.
            exclude={"files": True, "files_from": True, "model": {"url", "name"}},
        )
        if not self.machine.packages:
            for name in ("packages", "wheels", "pinned_wheels"):
                del content["machine"][name]
        if self.machine.programs is None:
            del content["machine"]["programs"]
        tree = self.initial_tree(NameOnlyBlobs())
        content["files"] = {path: entry.to_json() for path, entry in tree.items()}
        content["sites"] = [
            {"user": entry.user, "site": site.model_dump(mode="json", by_alias=True)}
            if site
            else entry.model_dump(mode="json")
            for entry, site in self.site_uses()
        ]
        for name in ("tables", "operations", "answers", "fiction", "pages", "sites"):
            # A world without any keeps the name it had before there were any.
            if not content[name]:
                del content[name]
        return json.dumps(
            content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )

    @field_serializer("clock")
    def _write_clock(self, clock: datetime) -> str:
        return clock.isoformat().replace("+00:00", "Z")

    @model_validator(mode="after")
    def _check_between_fields(self) -> Self:
        problems = list(path_conflicts(self.files))
        every = self.tables.get("*")
        if every is not None and every != TableSpec(generate=every.generate):
            problems.append((("tables", "*"), "it is about all tables and takes `generate` alone."))
        for rule, access in self.access.items():
            if (problem := access_problem(rule, access)) is not None:
                problems.append((("access", rule), problem))
        problems += self._control_problems()
        names: set[str] = set()
        for number, tool in enumerate(self.tools):
            name = tool.name if isinstance(tool, ToolObject) else tool
            if name in names:
                message = f"{name!r} is listed twice. Remove one of the two."
                problems.append((("tools", number), message))
            names.add(name)
            if isinstance(tool, ToolObject):
                problems += self._tool_problems(number, tool)
        KeyedProblems.raise_for(problems)
        return self

    def _control_problems(self) -> Problems:
        """Controls that have one name, or can never strike in this scenario, or behind one another."""
        problems: Problems = []
        before: list[Control] = []
        for number, spec in enumerate(self.controls):
            for control in spec.to_controls():
                if any(control.name == other.name for other in before):
                    message = f"{control.name!r} is the name of another control. Give each its own."
                    problems.append((("controls", number, "name"), message))
                elif (never := self._why_never(control, before)) is not None:
                    problems.append((("controls", number, never[0]), never[1]))
                before.append(control)
        return problems

    def _why_never(self, control: Control, before: Sequence[Control]) -> tuple[str, str] | None:
        """Why a control can never strike, and the key that says so."""
        if not isinstance(control, SelectiveControl):
            return None
        if control.domain is not None and control.domain not in self.domains:
            return "domain", f"found {control.domain!r}; allowed: {', '.join(self.domains)}."
        if control.only_in and not set(control.only_in) & set(self.domains):
            only = f"it strikes in {', '.join(control.only_in)} alone"
            return "kind", f"{only}, and the domains are: {', '.join(self.domains)}. Remove it."
        if (outer := control.shadow_in(before)) is not None:
            message = (
                f"it can never strike: {outer!r}, before it, answers all of these calls. Put this one first,"
                " or have the other strike some calls only."
            )
            return "kind", message
        if self.tools and not control.is_pattern:
            names = [tool.name for tool in scenario_tools(self)]
            if control.tool not in names and (hint := nearest(control.tool, names)):
                return "tool", f"no tool of this scenario is named {control.tool!r}.{hint}"
        return None

    def _tool_problems(self, number: int, tool: ToolObject) -> Problems:
        known = ", ".join(self.domains)
        if tool.domain is None and len(self.domains) > 1:
            message = (
                "required, because the scenario has several domains. Add `domain:` with one of "
                f"{known}."
            )
        elif tool.domain is not None and tool.domain not in self.domains:
            message = f"found {tool.domain!r}; allowed: {known}. Add it to `domains`, or use one of those."
        else:
            return []
        return [(("tools", number, "domain"), message)]

    def _with_place(self, source: str, base: Path | None) -> Self:
        self._source = source
        self._base_dir = base
        return self


def declared_controls(written: Iterable[Mapping[str, Any] | str]) -> list[Control]:
    """The controls that a scenario, or a world's state, declares.

    Raises:
        UsageError: one is of no kind, or says what its kind does not take.
    """
    made: list[Control] = []
    for one in written:
        try:
            made += ControlSpec.model_validate(one).to_controls()
        except ValidationError as error:
            raise _problems_without_file("controls", error, ControlSpec) from error
    return made


def _problems_without_file(
    source: str, error: ValidationError, model: type[BaseModel]
) -> ScenarioError:
    from agentworld_sim.scenario._document import problems_error, problems_of, read_document

    return problems_error(source, problems_of(error, read_document("{}", source), model))


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file, for editors and generators.

    It cannot say everything that `Scenario.parse` checks, and accepts nothing less.
    """
    schema = Scenario.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "world"


def in_domains(tools: Iterable[ToolSpec], scenario: Scenario) -> Iterator[ToolSpec]:
    """The tools in the domains that the scenario names for them; a well-known tool has its own.

    Where it has a single domain, and not one of a shell, that is meant for tools of which nothing else is
    known.
    """
    named = {tool.name: tool.domain for tool in scenario.tools if isinstance(tool, ToolObject)}
    only = scenario.domains[0] if len(scenario.domains) == 1 else None
    for tool in tools:
        own = named.get(tool.name)
        if own is None and only not in (None, "terminal", "swe") and tool.domain in (None, "mcp"):
            own = None if binding_for(tool) else only
        yield tool if own is None else replace(tool, domain=own)


def scenario_tools(scenario: Scenario) -> list[ToolSpec]:
    """The tools a scenario names; its domains' own toolkits when it names none."""
    tools: list[ToolSpec] = []
    entries = scenario.tools or [kit for name in scenario.domains for kit in domain(name).toolkits]
    for entry in entries:
        if isinstance(entry, ToolObject):
            tools.append(entry.to_tool_spec())
        else:
            known = {tool.name for tool in tools}
            tools += [tool for tool in toolkit(entry) if tool.name not in known]
    return tools


def empty_scenario() -> Scenario:
    """An empty Debian machine."""
    return Scenario.model_validate({"name": "debian", "domains": ("terminal", "swe")})


def stored_text(scenario: Scenario) -> str:
    """The scenario as kept beside a world: its files are in the world's state already."""
    content: dict[str, Any] = scenario.model_dump(
        mode="json", by_alias=True, exclude={"files", "files_from"}
    )
    # Not sorted: the order of a table's fields is the order in which answers have them.
    return json.dumps(content, ensure_ascii=False)


def restored_scenario(text: str) -> Scenario:
    """What `stored_text` wrote."""
    return Scenario.parse(text, source="the stored scenario")
