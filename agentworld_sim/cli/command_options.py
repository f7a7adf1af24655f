"""Options that several commands share, and the worlds and models that they name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import click

from agentworld_sim.errors import UnknownWorldError, UsageError

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.ports import WorldImaginer
    from agentworld_sim.store import WorldStore
    from agentworld_sim.world import World

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")


world_argument = click.argument("world_id", metavar="ID")

COUNT = click.IntRange(min=1)
FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)

json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


def asynchronous(command: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A command that is a coroutine function."""

    @wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        asyncio.run(command(*arguments, **options))

    return run


def with_options(command: F, *options: Callable[[F], F]) -> F:
    """The command with these options, in their order in the help."""
    for option in reversed(options):
        command = option(command)
    return command


def world_options(command: F) -> F:
    """`--world`, `--scenario`, `--from`, `--package` and `--seed`."""
    return with_options(
        command,
        click.option(
            "--world",
            "world_id",
            metavar="ID",
            envvar="AGENTWORLD_WORLD",
            help="Keep the state in this world; it is made if it does not exist.",
        ),
        click.option(
            "--scenario",
            metavar="FILE",
            help="Begin with this scenario: a file, or the name of a shipped one.",
        ),
        click.option(
            "--from",
            "folder",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Begin with the files of this folder of yours (they are copied, never changed).",
        ),
        click.option(
            "--package",
            "packages",
            metavar="NAME",
            multiple=True,
            help="A package for the machine's Python, from your wheels (`agentworld machine packages add NAME`).",
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of the random source."),
    )


async def named_world(
    world_id: str | None,
    scenario: str | None,
    folder: Path | None,
    seed: int | None,
    model_choice: ModelChoice,
    native: Path | None = None,
    packages: tuple[str, ...] = (),
) -> World:
    """The world that `world_options` describe: reopened if it exists, else made. With `native`, a virtual
    environment of this host answers `python3`. What of `folder` is a link that leaves it is told on standard error.

    Raises:
        UsageError: the options contradict each other, or describe a beginning for a world that has
            begun already.
    """
    from agentworld_sim.scenario import RoutesSpec, Scenario, empty_scenario
    from agentworld_sim.store import MemoryStore, open_store
    from agentworld_sim.types.files import MemoryBlobs
    from agentworld_sim.world import World

    if scenario and folder:
        raise UsageError("--scenario and --from both say how to begin. Give one of them.")
    model: WorldImaginer | None = model_choice.find()
    routes = RoutesSpec()
    if native:
        from agentworld_sim.engines.shell.native_python import ROUTES, NativePython

        if model:
            raise UsageError("--native-python and a language world model cannot both answer yet.")
        model, routes = NativePython(native), RoutesSpec(commands=ROUTES)
    store: WorldStore = open_store() if world_id else MemoryStore()
    if world_id and _exists(store, world_id):
        options = {"--scenario": scenario, "--from": folder, "--package": packages or None}
        given = next((name for name, one in options.items() if one is not None), "--seed")
        if given != "--seed" or seed is not None:
            raise UsageError(
                f"the world {world_id!r} exists already, and {given} says how to begin one. Leave"
                f" {given} out, choose another id, or `agentworld world rm {world_id}` first."
            )
        return await World.open(world_id, store=store, model=model)
    chosen = None
    if scenario:
        chosen = Scenario.load(scenario)
    elif folder:
        chosen = Scenario.from_directory(folder, domains=("terminal", "swe"))
        for one in chosen.initial_files(MemoryBlobs()).skipped:
            if "link" in one.reason or one.path == ".git/":
                click.echo(f"agentworld: left out {one}", err=True)
    if native:
        chosen = (chosen or empty_scenario()).model_copy(update={"routes": routes})
    if packages:
        chosen = chosen or empty_scenario()
        machine = chosen.machine
        machine = machine.model_copy(update={"packages": (*machine.packages, *packages)})
        chosen = chosen.model_copy(update={"machine": machine})
    return await World.create(chosen, id=world_id, store=store, seed=seed, model=model)


def _exists(store: WorldStore, world_id: str) -> bool:
    try:
        store.world(world_id)
    except UnknownWorldError:
        return False
    return True


_OPTION = {"second_model": "model-2", "second_url": "model-2-url"}
"""Options that are not called as the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What the options say."""

    url: str | None = None
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `ModelSettings`; `None` where nothing is said."""

    def find(self) -> WorldModel | None:
        """The model that options and environment name, if any.

        Raises:
            UsageError: an option is not usable; or one is given, and no URL.
        """
        if self.url is not None and not self.url.strip():
            raise UsageError(
                "--model-url is empty. Give the model's URL, for example http://127.0.0.1:8000/v1, or"
                " leave the option out."
            )
        if not (self.url or os.environ.get("AGENTWORLD_MODEL_URL")):
            given = [
                f"--{'no-' if value is False else ''}{_OPTION.get(name, name)}".replace("_", "-")
                for name, value in self.settings.items()
                if value is not None
            ]
            given += ["--model"] * bool(self.name)
            if given:
                raise UsageError(
                    f"{given[0]} is about a language world model, and none is named. Give its URL:"
                    " --model-url http://127.0.0.1:8000/v1, or AGENTWORLD_MODEL_URL."
                )
            return None
        from agentworld_sim.imagination import WorldModel

        return WorldModel.find(url=self.url, model=self.name, **self.settings)

    def require(self) -> WorldModel:
        """The same. Raises `UsageError` where none is named."""
        model = self.find()
        if model is None:
            raise UsageError(
                "no model is named. Give its URL: --model-url http://127.0.0.1:8000/v1, or AGENTWORLD_MODEL_URL."
            )
        return model


def model_options(command: F) -> F:
    """`--model-url`, `--model` and how it is asked; the command gets them as `model_choice`."""

    @wraps(command)
    def with_choice(*arguments: Any, **options: Any) -> Any:
        said = {name[6:]: options.pop(name) for name in list(options) if name.startswith("model_")}
        choice = ModelChoice(url=said.pop("url"), name=said.pop("name"), settings=said)
        return command(*arguments, model_choice=choice, **options)

    return with_options(
        cast("F", with_choice),
        click.option(
            "--model-url",
            metavar="URL",
            help="Imagine what cannot be computed with the language world model served here"
            " (AGENTWORLD_MODEL_URL; its key: AGENTWORLD_API_KEY).",
        ),
        click.option(
            "--model",
            "model_name",
            metavar="NAME",
            help="The model's name as served (AGENTWORLD_MODEL); needed where several are.",
        ),
        click.option(
            "--prompts",
            "model_prompts",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Prompt templates of your own: DIR/<domain>/system_prompt.txt (AGENTWORLD_PROMPTS).",
        ),
        click.option(
            "--max-tokens",
            "model_max_tokens",
            type=click.IntRange(min=1),
            help="Most tokens of one reply.",
        ),
        click.option(
            "--token-budget",
            "model_token_budget",
            type=click.IntRange(min=1),
            help="Most tokens a world may use.",
        ),
        click.option(
            "--thinking/--no-thinking",
            "model_thinking",
            default=None,
            help="Whether the model thinks first.",
        ),
        click.option(
            "--thinking-tokens",
            "model_thinking_tokens",
            type=click.IntRange(min=1),
            help="Most tokens of thinking in one reply.",
        ),
        click.option(
            "--examples",
            "model_examples",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Tell it calls like the one it is asked about (`agentworld bench examples`).",
        ),
        click.option(
            "--samples",
            "model_samples",
            type=click.IntRange(min=1),
            help="Ask it so often and take what most answers say.",
        ),
        click.option(
            "--calibration",
            "model_calibration",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="How sure an answer is (`agentworld bench calibrate`).",
        ),
        click.option(
            "--threshold",
            "model_threshold",
            type=click.FloatRange(0, 1),
            help="Take no answer that is less sure: ask --model-2, or fail.",
        ),
        click.option(
            "--model-2", "model_second_model", metavar="NAME", help="The model that is asked then."
        ),
        click.option(
            "--model-2-url",
            "model_second_url",
            metavar="URL",
            help="Where it is served; where the first is by default.",
        ),
    )


def check_store(
    context: click.Context, parameter: click.Parameter, where: str | None
) -> str | None:
    """What the option names, unless everybody on this machine would see a password in it.

    Raises:
        UsageError: it holds one.
    """
    from agentworld_sim.store.urls import has_password

    if where is not None and has_password(where):
        raise UsageError(
            "--store holds a password, and every user of this machine can read a command line. Put the"
            " URL into AGENTWORLD_STORE, or the password into PGPASSWORD or ~/.pgpass."
        )
    return where


store_option = click.option(
    "--store",
    metavar="FILE|URL",
    callback=check_store,
    help="Keep worlds in this file or PostgreSQL database instead of AGENTWORLD_STORE or your own store.",
)
"""`--store`, without a password."""
