"""Which upstreams, how their tools bind, who answers: the options that `serve` and `explain` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentworld_mcp_shim._targets import SERVER_VARIABLE
from agentworld_sim.cli.command_options import with_options
from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.access import checked_access
from agentworld_sim.types.tools import Access

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import ShimSettings, UpstreamTarget
    from agentworld_mcp_shim._upstream import Upstream

F = TypeVar("F", bound=Callable[..., Any])


def option_group(
    name: str, make: Callable[..., object], *options: Callable[[Any], Any]
) -> Callable[[F], F]:
    """Several options, in the order of the help, that a command gets as one value called `name`.

    `make` makes the value; it is given the options by their names.
    """

    def decorate(command: F) -> F:
        def run(**values: Any) -> Any:
            value = make(**{key: values.pop(key) for key in taken})
            return command(**{name: value}, **values)

        # Where click collects what decorators ask for, the innermost first.
        inner: list[click.Parameter] = getattr(command, "__click_params__", [])
        decorated: Any = with_options(run, *options)
        taken = [str(one.name) for one in decorated.__click_params__]
        decorated.__click_params__ = [*inner, *decorated.__click_params__]
        decorated.__doc__ = command.__doc__
        return decorated

    return decorate


def _settings(
    scenario: str | None,
    binds: tuple[str, ...],
    access: tuple[str, ...],
    upstream_timeout: float,
    upstream: tuple[str, ...],
    **upstreams: Any,
) -> ShimSettings:
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._targets import targets_of
    from agentworld_mcp_shim._worlds import WorldChoice

    return ShimSettings(
        targets=targets_of(upstream, **upstreams),
        worlds=WorldChoice(scenario=scenario),
        binds=parse_binds(binds),
        access=parse_access(access),
        upstream_seconds=upstream_timeout,
    )


def start_upstreams(
    targets: Iterable[UpstreamTarget], started: dict[str, Upstream], *, beside_snapshot: bool
) -> None:
    """Starts upstreams; before the long imports, so that they come up meanwhile.

    `started` is what has been started, by name, to be closed by the caller also after a failure;
    `beside_snapshot` says whether also those are started whose tools a snapshot tells.
    """
    from agentworld_mcp_shim._upstream import start_upstream

    for target in targets:
        if target.command and (beside_snapshot or target.snapshot is None):
            started[target.name] = start_upstream(target)


def timeout_option(default: float) -> Callable[[Any], Any]:
    """`--upstream-timeout`."""
    return click.option(
        "--upstream-timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=default,
        show_default=True,
        help="How long the upstream may take to start and list what it has.",
    )


upstream_options = option_group(
    "settings",
    _settings,
    click.option(
        "--scenario",
        metavar="FILE",
        help="A new world begins with this scenario: a file, or the name of a shipped one.",
    ),
    click.option(
        "--bind",
        "binds",
        metavar="NAME=TOOLKIT/TOOL",
        multiple=True,
        help="Answer the upstream's tool NAME as this known tool. May be repeated.",
    ),
    click.option(
        "--access",
        metavar="RULE=ACCESS",
        multiple=True,
        help="Who answers: simulate, refuse, or real, which goes to the upstream. RULE is a tool's name,"
        " a pattern or an annotation such as @destructive; `real` takes whole names only. May be"
        " repeated.",
    ),
    click.option(
        "--snapshot",
        "snapshots",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Show what `agentworld mcp snapshot` wrote down, and start no upstream. `serve` compares it"
        " with a command that is given too. May be repeated.",
    ),
    click.option(
        "--upstream",
        "upstreams",
        metavar="NAME=COMMAND|URL",
        multiple=True,
        help="One of several upstreams; its tools are shown as NAME__tool. May be repeated.",
    ),
    click.option(
        "--servers",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Take the upstreams from the configuration file of a client that `wrap` knows.",
    ),
    click.option(
        "--server",
        metavar="NAME",
        envvar=SERVER_VARIABLE,
        help="The name of UPSTREAM among servers that share the world: its tables are its own, and a"
        " scenario calls its tools NAME__tool.",
    ),
    timeout_option(30.0),
    click.argument("upstream", nargs=-1, type=click.UNPROCESSED),
)


def parse_binds(binds: tuple[str, ...]) -> dict[str, str]:
    """The values of `--bind` by tool name."""
    chosen: dict[str, str] = {}
    for bind in binds:
        # From the right: a binding's name has no `=`, a tool's may, and so may what is said of arguments.
        said, bracket, arguments = bind.partition("(")
        name, _, binding = said.rpartition("=")
        binding += bracket + arguments
        toolkit, _, tool = binding.partition("/")
        if not (name and toolkit and tool):
            raise UsageError(
                f"--bind {bind!r} is not of the form NAME=TOOLKIT/TOOL, for example"
                " run_command=terminal/bash."
            )
        _put_once(chosen, "--bind", name, binding)
    return chosen


def parse_access(rules: tuple[str, ...]) -> dict[str, Access]:
    """The values of `--access` by rule."""
    chosen: dict[str, str] = {}
    for rule in rules:
        name, _, access = rule.rpartition("=")
        if not name:
            raise UsageError(
                f"--access {rule!r} is not of the form RULE=ACCESS, for example create_issue=refuse."
            )
        _put_once(chosen, "--access", name, access)
    return checked_access(chosen)


def _put_once(chosen: dict[str, str], option: str, name: str, value: str) -> None:
    if name in chosen:
        raise UsageError(f"{option} names {name!r} twice: {chosen[name]} and {value}.")
    chosen[name] = value


def log_to_stderr(verbose: bool) -> None:
    """Logs to standard error, as the `agentworld` command speaks."""
    import logging
    import sys

    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="agentworld: %(message)s",
    )


def require_sdk() -> None:
    """Raises `UsageError` when the package `mcp` is missing, or another version than the shim works with."""
    import sys
    from importlib.metadata import version

    from agentworld_sim.extras import require

    require("mcp.server.lowlevel", extra="mcp")
    installed = version("mcp")
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdecimal())
    if (2, 1) <= numbers < (3,):
        return
    raise UsageError(
        f"this environment has mcp {installed}, and agentworld needs mcp>=2.1,<3. Another package of it"
        " asks for that version: langchain-mcp-adapters, for example, for mcp<2. Give agentworld an"
        " environment of its own (`python -m venv ~/agentworld` and `~/agentworld/bin/pip install"
        " 'agentworld-sim[mcp]'`), run `~/agentworld/bin/agentworld mcp …` there, and name the servers'"
        f" interpreter by its whole path: `-- {sys.executable} server.py` for one of this environment."
    )
