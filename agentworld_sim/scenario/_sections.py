"""The sections of a scenario: machine, tools, answers, limits, routes, model and controls."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    Tag,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agentworld_sim.controls import Control, SelectiveControl, control_kinds
from agentworld_sim.controls.control_list import BUILTIN_KINDS
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scenario._profiles import control_profiles
from agentworld_sim.scenario._types import (
    AbsolutePath,
    Account,
    Domain,
    Hostname,
    KeyedProblems,
    Positive,
    Problems,
    RelativePath,
    Slug,
    Strict,
    ToolName,
    Variable,
    attribute_docs,
    mismatch,
    unknown_key,
)
from agentworld_sim.types.tools import Access, DomainName, Route, ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.engines.shell.machine import Machine, ShellLimits
    from agentworld_sim.ports import PromptContext

_FIRST_UID = 1000


def _no_nul(value: str) -> str:
    if "\0" in value:
        raise mismatch("text without NUL characters")
    return value


class UserSpec(Strict):
    """A user of the machine, besides those that Debian has."""

    name: Account
    """The login name; a group of the same name is created."""
    uid: Positive
    """The user's number."""
    gid: Positive | None = None
    """The group's number; the uid by default."""
    home: AbsolutePath | None = None
    """The home directory; `/home/NAME` by default."""
    shell: AbsolutePath = "/bin/bash"
    """The login shell."""
    gecos: str = ""
    """The full name, as in `/etc/passwd`."""


class MachineSpec(Strict):
    """What the simulated machine says about itself."""

    hostname: Hostname = "debian"
    """What `hostname` prints."""
    user: Account = "root"
    """Who the agent is. A user who is neither root nor in `users` is created."""
    home: AbsolutePath | None = None
    """The agent's home directory; `/root` or `/home/USER` by default."""
    workdir: AbsolutePath | None = None
    """Where a fresh shell starts, and where `files_from` goes; the home directory by default."""
    cpus: Positive = 2
    """Number of processors."""
    memory_kib: Positive = 4_014_512
    """Memory, in KiB."""
    disk_kib: Positive = 40_972_512
    """Size of the root file system, in KiB."""
    env: Mapping[Variable, Annotated[str, AfterValidator(_no_nul)]] = Field(
        default_factory=dict[str, str]
    )
    """Extra environment variables of a fresh shell."""
    packages: tuple[str, ...] = Field(default=(), strict=False)
    """Packages of the machine's Python, as `pip install` takes them: `pytest`, `requests>=2.32`. What they need, and
    pip, comes with them. Needs the extra `machine`."""
    wheels: RelativePath | None = None
    """A folder with the wheels of `packages`, relative to the scenario file; all in it can be installed with pip. By
    default the packages are taken from the user's wheels (`agentworld machine packages`)."""
    pinned_wheels: tuple[str, ...] = Field(default=(), strict=False)
    """The wheels with the hashes of their contents, instead of a folder: written when a world is made."""
    programs: tuple[str, ...] | None = Field(default=None, strict=False)
    """The programs that it has: `git`, `openssl`, `python3`, `sqlite3`, and those of packages that add some. All that
    are installed by default; one that is named has to be installed."""
    allowed_directories: tuple[AbsolutePath, ...] = Field(default=(), strict=False)
    """Where the tools of the MCP filesystem server may work; without any, in `workdir` and everywhere
    else."""
    users: tuple[UserSpec, ...] = Field(default=(), strict=False)
    """Users besides those that Debian has."""

    @model_validator(mode="after")
    def _check_users(self) -> MachineSpec:
        problems: Problems = []
        names: dict[str, int] = {"root": -1}
        uids: dict[int, str] = {}
        for number, user in enumerate(self.users):
            if user.name in names:
                message = f"the user {user.name!r} is there already."
                problems.append((("users", number, "name"), message))
            elif user.uid in uids:
                message = f"the uid {user.uid} belongs to {uids[user.uid]!r}. Use another number."
                problems.append((("users", number, "uid"), message))
            names[user.name] = number
            uids.setdefault(user.uid, user.name)
        KeyedProblems.raise_for(problems)
        return self

    @model_validator(mode="after")
    def _check_programs(self) -> MachineSpec:
        if self.packages and self.programs is not None and "python3" not in self.programs:
            message = "it lacks 'python3', which `packages` need. Name it, or no packages."
            KeyedProblems.raise_for([(("programs",), message)])
        return self

    @property
    def home_path(self) -> str:
        """The agent's home directory."""
        listed = next((user.home for user in self.users if user.name == self.user), None)
        return self.home or listed or ("/root" if self.user == "root" else f"/home/{self.user}")

    @property
    def workdir_path(self) -> str:
        """Where a fresh shell starts."""
        return self.workdir or self.home_path

    def to_machine(self) -> Machine:
        """The value that the shell engine takes."""
        from agentworld_sim.engines.shell.machine import Machine, User
        from agentworld_sim.types.files import normal_path

        users = [
            User(one.name, one.uid, one.gid or one.uid, home, one.shell, one.gecos)
            for one in self.users
            for home in [one.home or f"/home/{one.name}"]
        ]
        if self.user != "root" and self.user not in {user.name for user in users}:
            taken = {user.uid for user in users}
            uid = next(n for n in range(_FIRST_UID, _FIRST_UID + len(taken) + 1) if n not in taken)
            users.append(User(self.user, uid, uid, self.home_path, "/bin/bash"))
        said: dict[str, Any] = dict(self)
        del said["users"]
        said |= {"home": self.home_path, "workdir": self.workdir_path, "extra_users": tuple(users)}
        said["env"] = tuple(sorted(self.env.items()))
        said["wheels"] = said.pop("pinned_wheels")
        said["allowed_directories"] = tuple(normal_path(one) for one in self.allowed_directories)
        return Machine(**said)


def _json_schema(value: dict[str, Any]) -> dict[str, Any]:
    # Most scenarios describe no tools of their own, and the import takes a tenth of a second.
    from jsonschema import Draft202012Validator, SchemaError

    from agentworld_sim.schema.limits import check_schema

    try:
        check_schema(Draft202012Validator, value)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        at = f" (at {where})" if where else ""
        raise mismatch(f"a JSON Schema, draft 2020-12; {error.message}{at}") from None
    return value


JsonSchema = Annotated[dict[str, Any], AfterValidator(_json_schema)]


class ToolObject(Strict):
    """A tool, as the agent sees it."""

    name: ToolName
    """The name that the agent calls."""
    description: str = ""
    """What the agent is told about it."""
    input_schema: JsonSchema = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments."""
    output_schema: JsonSchema | None = None
    """JSON Schema of its structured content."""
    domain: Domain | None = None
    """The domain that answers; needed where the scenario has several."""
    binds_to: str | None = None
    """The name of what answers it; a tool that binds to nothing is refused."""
    access: Access | None = None
    """`simulate`, `real` or `refuse`; what the scenario's `access` says by default."""

    def to_tool_spec(self) -> ToolSpec:
        """The value that a world takes."""
        said: dict[str, Any] = {**dict(self), "access": self.access or "simulate"}
        return ToolSpec(**said)


def _tool_form(value: object) -> str | None:
    if isinstance(value, str):
        return "<toolkit>"
    return "<tool>" if isinstance(value, dict | ToolObject) else None


ToolEntry = Annotated[
    Annotated[Slug, Tag("<toolkit>")] | Annotated[ToolObject, Tag("<tool>")],
    Discriminator(
        _tool_form,
        custom_error_type="allowed",
        custom_error_message="{text}",
        custom_error_context={
            "text": "the name of a toolkit, or a tool: {name, description, input_schema, …}"
        },
    ),
]


class AnswerSpec(Strict):
    """What a tool answers, whatever it is called with. A text alone is `text`."""

    text: str = ""
    """The text that the agent reads."""
    value: JsonValue = None
    """A JSON value, which the agent reads as JSON."""
    error: str = ""
    """The tool fails with this."""
    function: str = ""
    """The function that was given to `World.create(answers=…)`, for the record: it must be given again."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"text": given}
        if isinstance(given, AnswerSpec):
            return given
        if not isinstance(given, Mapping) or len(cast("Mapping[str, Any]", given)) != 1:
            raise mismatch("a text, or a mapping with one of the keys text, value and error")
        return cast("Mapping[str, Any]", given)

    @model_serializer
    def data(self) -> dict[str, Any]:
        """The one key that was given."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Limits(Strict):
    """Bounds on what a world may use. Reaching one is told, and never cuts silently."""

    output_bytes: Positive = 8 * 1024**2
    """Output of one command."""
    file_bytes: Positive = 16 * 1024**2
    """Size of one file."""
    files: Positive = 20_000
    """Number of files."""
    total_bytes: Positive = 256 * 1024**2
    """Size of all files together."""
    loop_iterations: Positive = 30_000_000
    """Turns of all loops in one step."""
    commands: Positive = 10_000_000
    """Commands run in one step."""
    memory_bytes: Positive = 256 * 1024**2
    """Memory of the engine."""
    wall_seconds: Annotated[float, Field(gt=0, le=86_400, strict=False)] = 30.0
    """Time that one step may take."""

    def to_shell_limits(self) -> ShellLimits:
        """The part that the shell engine takes."""
        from agentworld_sim.engines.shell.machine import ShellLimits

        named = {one.name for one in dataclasses.fields(ShellLimits)}
        return ShellLimits(**self.model_dump(include=named))


Text = Annotated[str, Field(min_length=1)]


def _base_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    # A password is refused, and not shown, by the settings.
    if not good and "@" not in url:
        raise mismatch("a base URL, for example http://127.0.0.1:8000/v1")
    return url


class RoutesSpec(Strict):
    """How tools and commands are answered, by name or pattern (`*`, `?`, `[…]`)."""

    tools: Mapping[str, Route] = Field(default_factory=dict[str, Route])
    """Tools: `compute` only, `imagine` even if it could be computed, or `refuse`."""
    commands: Mapping[str, Route] = Field(default_factory=dict[str, Route])
    """Commands of the shell: `compute` (one that it does not have is not found), `imagine`, or
    `refuse`, which ends the step with an error."""


class ModelSpec(Strict):
    """The language world model that imagines what cannot be computed, and what it is told.

    Its key is never written here: it comes from AGENTWORLD_API_KEY, and goes to a server that only a
    scenario names if that is on this host.
    """

    url: Annotated[Text, AfterValidator(_base_url)] | None = None
    """Base URL of its OpenAI-compatible API; options and AGENTWORLD_MODEL_URL win over it."""
    name: Text | None = None
    """Its name as served; options and AGENTWORLD_MODEL win over it."""
    thinking: bool | None = None
    """Whether it thinks before it answers; it does by default."""
    max_tokens: Positive | None = None
    """Most tokens of one reply, thinking included."""
    thinking_tokens: Positive | None = None
    """Most tokens of thinking in one reply."""
    token_budget: Positive | None = None
    """Most tokens that the world may use in all."""
    initial_state: Mapping[Domain, Text] = Field(default_factory=dict[DomainName, str])
    """What is there at the start, by domain, in the domain's own form: a screen, or a description."""
    demonstrations: Mapping[Domain, Text] = Field(default_factory=dict[DomainName, str])
    """Examples of calls and answers of the real system, by domain."""
    instruction: str = ""
    """How the simulated world shall behave. The agent is never shown it."""

    def limits(self) -> Mapping[str, Any]:
        """How much a model may think, write and use; see `WorldModel.with_limits`."""
        names = {"thinking", "max_tokens", "thinking_tokens", "token_budget"}
        return self.model_dump(include=names)

    def to_prompt_context(self, task: str, env: Mapping[str, str]) -> PromptContext:
        """What the model is told. Of `env`, what is named like a secret is kept out of prompts."""
        from agentworld_sim.ports import PromptContext
        from agentworld_sim.redaction.environment import secrets_of

        return PromptContext(
            task=task,
            initial_state=self.initial_state,
            demonstrations=self.demonstrations,
            instruction=self.instruction,
            secrets=secrets_of(env),
        )


class ControlSpec(Strict):
    """A perturbation that is enforced in code, or a profile: several of them under one name. Its other keys belong
    to its kind, or to each of the profile's. A text is a profile's name."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """What it does, or the name of a profile."""

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, value: object) -> object:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> ControlSpec:
        self.to_controls()
        return self

    def to_data(self) -> list[dict[str, Any]]:
        """Each control that it means, as a scenario writes it."""
        return self._each(self.model_dump(mode="json"))

    def to_controls(self) -> list[Control]:
        """The controls that it means."""
        said = {"kind": self.kind, **(self.model_extra or {})}
        return [_control_of(one) for one in self._each(said)]

    def _each(self, said: dict[str, Any]) -> list[dict[str, Any]]:
        own = self.kind in BUILTIN_KINDS or "/" in self.kind
        profile = None if own else control_profiles().get(self.kind)
        if profile is None:
            return [said]
        shared = {key: value for key, value in said.items() if key not in ("kind", "name")}
        name = said.get("name", self.kind)
        return [
            {**one, **shared, "name": f"{name}-{one.get('name', one['kind'])}"}
            for one in profile.controls
        ]

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        shared = control_schema(SelectiveControl)
        schema["allOf"] = [_if_kind({"enum": list(BUILTIN_KINDS)}, shared)]
        for name in BUILTIN_KINDS:
            own = control_schema(control_kinds.get(name))
            own["properties"] = {
                key: value
                for key, value in own["properties"].items()
                if value != shared["properties"].get(key)
            }
            schema["allOf"].append(_if_kind({"const": name}, own))
        return {"anyOf": [schema, {"enum": list(control_profiles())}]}


def _if_kind(kind: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    then = {key: schema[key] for key in ("properties", "required") if schema.get(key)}
    return {"if": {"properties": {"kind": kind}}, "then": then}


def _control_of(data: Mapping[str, Any]) -> Control:
    said = {key: value for key, value in data.items() if key != "kind"}
    try:
        kind = control_kinds.get(data["kind"])
    except UsageError as error:
        profiles = f"{nearest(data['kind'], control_profiles())} Profiles: {', '.join(control_profiles())}."
        raise KeyedProblems([(("kind",), f"{error}{profiles}")]) from error
    model, local = _model_of(kind)
    problems = {
        key: _PROCESS_LOCAL.format(key)
        if key in local or callable(value)
        else unknown_key(key, ["kind", *model.model_fields])
        for key, value in said.items()
        if key not in model.model_fields or callable(value)
    }
    if problems:
        raise KeyedProblems(((key,), message) for key, message in problems.items())
    # As JSON: a list is right where the kind has a tuple.
    read = model.model_validate_json(json.dumps(said))
    try:
        return kind(**{name: getattr(read, name) for name in model.model_fields})
    except (UsageError, ValueError) as error:
        raise KeyedProblems([((), f"{error}")]) from error


def control_schema(kind: type[Control]) -> dict[str, Any]:
    """The JSON Schema of what a scenario says of a control of this kind, beside `kind`."""
    schema = _model_of(kind)[0].model_json_schema()
    texts = attribute_docs(kind, below=Control)
    for name, field in schema["properties"].items():
        field.pop("title", None)
        if name in texts:
            field["description"] = texts[name]
    return schema


_PROCESS_LOCAL = (
    "a Python function belongs to one process, and a scenario is data. Give a control that has one to"
    " World.create(controls=[…]); without it, remove `{}`."
)


@cache
def _model_of(kind: type[Control]) -> tuple[type[Strict], frozenset[str]]:
    """What reads the fields of a kind that are data, and the names of the others."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    local: set[str] = set()
    for field in dataclasses.fields(cast("Any", kind)):
        if _callable(hints[field.name]):
            local.add(field.name)
        elif field.default_factory is not dataclasses.MISSING:
            fields[field.name] = hints[field.name], field.default_factory()
        else:
            default = ... if field.default is dataclasses.MISSING else field.default
            fields[field.name] = hints[field.name], default
    return create_model(kind.__name__, __base__=Strict, **fields), frozenset(local)


def _callable(hint: object) -> bool:
    return get_origin(hint) is Callable or any(map(_callable, get_args(hint)))
