"""`agentworld mcp wrap` and `unwrap`: a client's configuration file with the shim in front."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim.wrapping import Outcome, Rewritten
    from agentworld_mcp_shim.wrapping._files import ConfigurationFile

F = TypeVar("F", bound=Callable[..., Any])

SOME_LEFT = 1
"""Exit code when servers that are switched on were left as they are: they stay real."""


def _file_options(command: F) -> F:
    options = (
        click.option(
            "--client", metavar="NAME", help="Whose file it is; found out from the file by default."
        ),
        click.option(
            "--server",
            "servers",
            metavar="NAME",
            multiple=True,
            help="Only this server; all by default. May be repeated.",
        ),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write the new file here instead of printing it.",
        ),
        click.option("--in-place", is_flag=True, help="Change FILE itself."),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
        click.argument("file", required=False, type=click.Path(path_type=Path)),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(name="wrap")
@click.option(
    "--world",
    metavar="ID",
    help="The world of all these servers. By default those of one list share a world that is named"
    " after the file's folder.",
)
@click.option("--world-per-server", is_flag=True, help="Give each server a world of its own.")
@click.option(
    "--model-url", metavar="URL", help="Imagine with the language world model served here."
)
@click.option("--model", "model_name", metavar="NAME", help="The model's name as served.")
@_file_options
def wrap_command(
    world: str | None,
    world_per_server: bool,
    model_url: str | None,
    model_name: str | None,
    client: str | None,
    servers: tuple[str, ...],
    output: Path | None,
    in_place: bool,
    dry_run: bool,
    file: Path | None,
) -> None:
    """Put `agentworld mcp` in front of the MCP servers in a client's configuration FILE.

    The new file is printed; FILE itself is only changed with --in-place, after a backup. What the client
    will start is said on standard error. Without FILE the configuration files found here are listed.

    \b
      agentworld mcp wrap .mcp.json > wrapped.json
      agentworld mcp wrap --dry-run ~/.cursor/mcp.json
      agentworld mcp wrap --in-place --world lab --server github .vscode/mcp.json
      agentworld mcp unwrap --in-place .vscode/mcp.json

    Known clients: claude-desktop, claude-code, cursor, gemini, windsurf, vscode, zed, codex, goose.

    Exit codes: 0 when every server is wrapped, 1 when some were left as they are and stay real, 2 when
    the file or an option is wrong; then nothing was written.
    """
    if file is None:
        _list_files()
        return
    # What it writes starts this interpreter, which must be able to serve.
    from agentworld_mcp_shim._sdk import require_sdk

    require_sdk()
    from agentworld_mcp_shim.wrapping import WrapChoice, wrap_text
    from agentworld_mcp_shim.wrapping._files import read_file

    source = read_file(file)
    choice = WrapChoice(
        interpreter=_interpreter(),
        world=_checked_world(world),
        world_per_server=world_per_server,
        variables=_model_variables(model_url, model_name),
    )
    rewritten = wrap_text(source.text, source.path, choice, client=client, servers=servers)
    _report(rewritten, source)
    _require_servers(rewritten, servers)
    _deliver(source, rewritten, output, in_place=in_place, dry_run=dry_run, backup=True)
    left = [one for one in rewritten.outcomes if one.fate == "left" and not one.off]
    if left:
        raise click.exceptions.Exit(SOME_LEFT)


@click.command(name="unwrap")
@_file_options
def unwrap_command(
    client: str | None,
    servers: tuple[str, ...],
    output: Path | None,
    in_place: bool,
    dry_run: bool,
    file: Path | None,
) -> None:
    """Take `agentworld mcp` away again from the MCP servers in a client's configuration FILE.

    Entries become what they were to the byte; other changes to the file since then stay. The new file is
    printed; FILE itself is only changed with --in-place.

    Exit codes: 0 when no server is wrapped any more, 1 when some were left as they are, 2 when the file
    or an option is wrong; then nothing was written.
    """
    if file is None:
        _list_files()
        return
    from agentworld_mcp_shim.wrapping import unwrap_text
    from agentworld_mcp_shim.wrapping._files import drop_backup, read_file

    source = read_file(file)
    rewritten = unwrap_text(source.text, source.path, client=client, servers=servers)
    _report(rewritten, source)
    _require_servers(rewritten, servers)
    _deliver(source, rewritten, output, in_place=in_place, dry_run=dry_run, backup=False)
    if in_place and not dry_run:
        dropped = drop_backup(source, rewritten.text)
        if dropped is not None:
            _say(f"removed the backup {dropped}, which is what {source.path} is again")
    if any(one.fate == "left" for one in rewritten.outcomes):
        raise click.exceptions.Exit(SOME_LEFT)


def _interpreter() -> str:
    if not sys.executable:
        raise UsageError("the Python interpreter that runs this does not say where it is.")
    # Not resolved: the link of a virtual environment is what makes it one.
    return str(Path(sys.executable).absolute())


def _checked_world(world: str | None) -> str | None:
    if world is not None:
        from agentworld_sim.runtime.history import check_world_id

        check_world_id(world)
    return world


def _model_variables(url: str | None, name: str | None) -> dict[str, str]:
    if name and not url:
        raise UsageError(
            "--model is about a language world model, and none is named. Give its URL:"
            " --model-url http://127.0.0.1:8000/v1."
        )
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError(
            f"--model-url {url!r} is no http(s) URL, for example http://127.0.0.1:8000/v1."
        )
    found = {"AGENTWORLD_MODEL_URL": url, "AGENTWORLD_MODEL": name}
    return {variable: value for variable, value in found.items() if value}


def _list_files() -> None:
    """Says which configuration files are here, and what is in them."""
    from agentworld_mcp_shim.wrapping import usual_files
    from agentworld_mcp_shim.wrapping._clients import servers_of
    from agentworld_mcp_shim.wrapping._documents import BOM, parse
    from agentworld_mcp_shim.wrapping._entry import starts_shim
    from agentworld_mcp_shim.wrapping._files import read_file

    files = usual_files(Path(), Path.home())
    if not files:
        _say("no client's configuration file was found here. Name one: agentworld mcp wrap FILE")
        return
    for client, path in files:
        try:
            document = parse(read_file(path).text.removeprefix(BOM), client.format)
        except UsageError as error:
            click.echo(f"{path}  ({client.title}): cannot be read: {error}")
            continue
        click.echo(f"{path}  ({client.title})")
        for servers in servers_of(document, client):
            for entry in servers.entries:
                node = entry.node
                wrapped = node.kind == "map" and starts_shim(node, client)
                click.echo(f"  {entry.key}{'  (wrapped)' if wrapped else ''}")
    _say("nothing was changed. Name one of the files: agentworld mcp wrap FILE")


def _require_servers(rewritten: Rewritten, names: tuple[str, ...]) -> None:
    """A server that was asked for by name and cannot be had is an error, not a warning."""
    for one in rewritten.outcomes:
        if one.server in names and one.fate == "left":
            raise UsageError(f"the server {one.server!r} cannot be rewritten: {one.reason}.")


def _report(rewritten: Rewritten, source: ConfigurationFile) -> None:
    count = {
        fate: sum(one.fate == fate for one in rewritten.outcomes)
        for fate in ("wrapped", "unwrapped", "already", "left")
    }
    said = ", ".join(
        f"{number} {'as asked already' if fate == 'already' else 'left as they are' if fate == 'left' else fate}"
        for fate, number in count.items()
        if number
    )
    _say(f"{source.path} ({rewritten.client.title}): {said or 'no servers'}")
    for one in rewritten.outcomes:
        if one.fate in ("wrapped", "unwrapped"):
            _describe(one)
        elif one.fate == "left":
            still = "" if one.off else " It stays real."
            click.secho(
                f"  {one.server}: left as it is: {one.reason}.{still}", fg="yellow", err=True
            )


def _describe(one: Outcome) -> None:
    from agentworld_mcp_shim.wrapping._secrets import holds_secret, veiled

    off = " (switched off)" if one.off else ""
    if one.command:
        click.echo(f"  {one.server}{off} starts: {shlex.join(veiled(one.command))}", err=True)
    else:
        click.echo(f"  {one.server}{off} starts nothing; the client connects to its URL", err=True)
    if one.variables and one.fate == "wrapped":
        click.echo(f"    with {', '.join(one.variables)}", err=True)
    for note in one.notes:
        click.secho(f"    note: {note}", fg="yellow", err=True)
    if one.fate == "wrapped" and holds_secret(one.command):
        click.secho(
            "    note: its own arguments seem to hold a secret, as they did before; users of this host"
            " can see it",
            fg="yellow",
            err=True,
        )


def _deliver(
    source: ConfigurationFile,
    rewritten: Rewritten,
    output: Path | None,
    *,
    in_place: bool,
    dry_run: bool,
    backup: bool,
) -> None:
    from agentworld_mcp_shim.wrapping._files import back_up, write_in_place, write_new

    if in_place and output is not None:
        raise UsageError("--in-place changes FILE, and -o names another one. Give one of them.")
    changed = rewritten.text != source.text
    if dry_run:
        _show_difference(source, rewritten.text, output or source.path)
    elif in_place and changed:
        # A file with wrapped servers in it is no original worth keeping.
        fresh = not any(one.fate == "already" for one in rewritten.outcomes)
        if backup and fresh:
            _say(f"backup: {back_up(source)}")
        write_in_place(source, rewritten.text)
        _say(f"changed {source.path}; restart the client")
    elif in_place:
        _say(f"{source.path} was not changed")
    elif output is not None:
        if output.resolve() == source.target:
            raise UsageError(f"-o names {source.path} itself. To change it, use --in-place.")
        write_new(output, rewritten.text, like=source.target)
        _say(f"wrote {output}")
    else:
        click.echo(rewritten.text.encode("utf-8"), nl=False)


def _show_difference(source: ConfigurationFile, text: str, to: Path) -> None:
    lines = difflib.unified_diff(
        source.text.splitlines(keepends=True),
        text.splitlines(keepends=True),
        str(source.path),
        str(to),
    )
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        header = line.startswith(("---", "+++"))
        colour = None if header else colours.get(line[0])
        ending = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
        click.secho(
            line.removesuffix("\n").removesuffix("\r"), fg=colour, bold=header or None, nl=False
        )
        click.echo(ending or "\n", nl=False)


def _say(text: str) -> None:
    click.echo(f"agentworld: {text}", err=True)
