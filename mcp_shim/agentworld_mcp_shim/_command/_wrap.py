"""`agentworld mcp wrap` and `unwrap`: a client's configuration file with the shim in front."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from agentworld_mcp_shim._command._upstream_options import option_group, require_sdk
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim.wrapping import EntryOutcome, RewrittenConfig
    from agentworld_mcp_shim.wrapping._config_files import ConfigFile

SOME_LEFT = 1
"""Exit code when servers that are switched on were left as they are: they stay real."""


class FileChoice(NamedTuple):
    """Which file, which servers of it, and where the result goes."""

    client: str | None
    servers: tuple[str, ...]
    output: Path | None
    in_place: bool
    dry_run: bool
    file: Path | None


_file_options = option_group(
    "choice",
    FileChoice,
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


@click.command(name="wrap")
@click.option(
    "--world",
    metavar="ID",
    help="The world of all these servers. By default those of one list share a world that is named"
    " after the file's folder.",
)
@click.option(
    "--snapshot",
    "snapshots",
    metavar="NAME=FILE",
    multiple=True,
    help="Never start the server NAME: show what `agentworld mcp snapshot` wrote down of it. Says how"
    " many of its tools are answered. May be repeated.",
)
@click.option(
    "--model-url", metavar="URL", help="Imagine with the language world model served here."
)
@click.option("--model", "model_name", metavar="NAME", help="The model's name as served.")
@_file_options
def wrap_command(
    world: str | None,
    snapshots: tuple[str, ...],
    model_url: str | None,
    model_name: str | None,
    choice: FileChoice,
) -> None:
    """Put `agentworld mcp` in front of the MCP servers in a client's configuration FILE.

    The new file is printed; FILE itself is only changed with --in-place, after a backup. What the client
    will start is said on standard error. Without FILE the configuration files found here are listed.

    \b
      agentworld mcp wrap .mcp.json > wrapped.json
      agentworld mcp wrap --dry-run ~/.cursor/mcp.json
      agentworld mcp wrap --in-place --world lab --server github .vscode/mcp.json
      agentworld mcp unwrap --in-place .vscode/mcp.json

    Known clients: claude-desktop, claude-code, cursor, gemini, qwen, windsurf, vscode, opencode, zed,
    codex, goose.

    Exit codes: 0 when every server is wrapped, 1 when some were left as they are and stay real, 2 when
    the file or an option is wrong; then nothing was written.
    """
    if choice.file is None:
        _list_files()
        return
    # What it writes starts this interpreter, which must be able to serve.
    require_sdk()
    from agentworld_mcp_shim.wrapping import WrapChoice, wrap_text
    from agentworld_mcp_shim.wrapping._config_files import read_file

    if not sys.executable:
        raise UsageError("the Python interpreter that runs this does not say where it is.")
    if world is not None:
        from agentworld_sim.runtime.world_history import check_world_id

        check_world_id(world)
    files = _parse_snapshots(snapshots)
    variables = _model_variables(model_url, model_name)
    source = read_file(choice.file)
    rewritten = wrap_text(
        source.text,
        source.path,
        WrapChoice(
            # Not resolved: the link of a virtual environment is what makes it one.
            interpreter=str(Path(sys.executable).absolute()),
            world=world,
            variables=variables,
            snapshots=files,
        ),
        client=choice.client,
        servers=choice.servers,
    )
    _report(rewritten, source, choice)
    if not variables:
        _report_refusals(rewritten, files)
    _deliver(source, rewritten, choice, backup=True)
    if any(one.fate == "left" and not one.off for one in rewritten.outcomes):
        raise click.exceptions.Exit(SOME_LEFT)


@click.command(name="unwrap")
@_file_options
def unwrap_command(choice: FileChoice) -> None:
    """Take `agentworld mcp` away again from the MCP servers in a client's configuration FILE.

    Entries become what they were to the byte; other changes to the file since then stay. The new file is
    printed; FILE itself is only changed with --in-place.

    Exit codes: 0 when no server is wrapped any more, 1 when some were left as they are, 2 when the file
    or an option is wrong; then nothing was written.
    """
    if choice.file is None:
        _list_files()
        return
    from agentworld_mcp_shim.wrapping import unwrap_text
    from agentworld_mcp_shim.wrapping._config_files import drop_backup, read_file

    source = read_file(choice.file)
    rewritten = unwrap_text(source.text, source.path, client=choice.client, servers=choice.servers)
    _report(rewritten, source, choice)
    _deliver(source, rewritten, choice, backup=False)
    if choice.in_place and not choice.dry_run and (dropped := drop_backup(source, rewritten.text)):
        _say(f"removed the backup {dropped}, which is what {source.path} is again")
    if any(one.fate == "left" for one in rewritten.outcomes):
        raise click.exceptions.Exit(SOME_LEFT)


def _parse_snapshots(given: tuple[str, ...]) -> dict[str, Path]:
    """The values of `--snapshot` by server."""
    if not given:
        return {}
    from agentworld_mcp_shim._snapshot_file import load_snapshot

    files: dict[str, Path] = {}
    for value in given:
        name, _, file = value.partition("=")
        if not (name and file):
            raise UsageError(
                f"--snapshot {value!r} is not of the form NAME=FILE, for example git=git.json."
            )
        files[name] = Path(file).expanduser().absolute()
        load_snapshot(files[name])
    return files


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
    from agentworld_mcp_shim.wrapping._clients import server_lists
    from agentworld_mcp_shim.wrapping._config_files import read_file
    from agentworld_mcp_shim.wrapping._config_rewrite import read_client_config
    from agentworld_mcp_shim.wrapping._entry_rewrite import starts_shim

    files = usual_files(Path(), Path.home())
    if not files:
        _say("no client's configuration file was found here. Name one: agentworld mcp wrap FILE")
        return
    for client, path in files:
        click.echo(f"{path}  ({client.title})")
        try:
            config, _ = read_client_config(read_file(path).text, path, client.name)
        except UsageError as error:
            click.echo(f"  {error}")
            continue
        for servers in server_lists(config, client):
            for name, entry in config.at(servers).items():
                click.echo(f"  {name}{'  (wrapped)' if starts_shim(entry, client) else ''}")
    _say("nothing was changed. Name one of the files: agentworld mcp wrap FILE")


def _report(rewritten: RewrittenConfig, source: ConfigFile, choice: FileChoice) -> None:
    """Says what happened to each server; one that was asked for by name must not be left."""
    words = {"already": "as asked already", "left": "left as they are"}
    fates = Counter(words.get(one.fate, one.fate) for one in rewritten.outcomes)
    total = ", ".join(f"{number} {fate}" for fate, number in fates.items())
    _say(f"{source.path} ({rewritten.client.title}): {total or 'no servers'}")
    for one in rewritten.outcomes:
        if one.fate in ("wrapped", "unwrapped"):
            _report_command(one)
        elif one.fate == "left":
            still = "" if one.off else " It stays real."
            _warn(f"  {one.server}: left as it is: {one.reason}.{still}")
    for one in rewritten.outcomes:
        if one.server in choice.servers and one.fate == "left":
            raise UsageError(f"the server {one.server!r} cannot be rewritten: {one.reason}.")


def _report_command(one: EntryOutcome) -> None:
    from agentworld_mcp_shim.wrapping._entry_rewrite import hide_secrets

    visible, notes = hide_secrets(one.command), list(one.notes)
    starts = (
        f"starts: {shlex.join(visible)}"
        if visible
        else "starts nothing; the client connects to its URL"
    )
    click.echo(f"  {one.server}{' (switched off)' * one.off} {starts}", err=True)
    if one.fate == "wrapped":
        click.echo(f"    with {', '.join(one.variables)}", err=True)
        if visible != list(one.command):
            notes.append(
                "its own arguments seem to hold a secret, as they did before; users of this host can"
                " see it"
            )
    for note in notes:
        _warn(f"    note: {note}")


def _report_refusals(rewritten: RewrittenConfig, snapshots: dict[str, Path]) -> None:
    """Says how many tools are answered by nobody, where a snapshot tells of them."""
    import asyncio

    from agentworld_mcp_shim._explanation import explain_tools
    from agentworld_mcp_shim._settings import ShimSettings, UpstreamTarget

    fresh = {one.server for one in rewritten.outcomes if one.fate == "wrapped"}
    for name in sorted(fresh & snapshots.keys()):
        settings = ShimSettings(targets=(UpstreamTarget(snapshot=snapshots[name]),))
        answers = asyncio.run(explain_tools(settings, {})).counts()
        shown = shlex.quote(str(snapshots[name]))
        _warn(
            f"  {name}: {answers['nobody']} of its {sum(answers.values())} tools will refuse."
            f" `agentworld mcp explain --snapshot {shown}` says which and why."
        )
    if fresh - snapshots.keys():
        _say(
            "tools that nothing can compute will refuse: `agentworld mcp explain -- COMMAND` says which,"
            " and --snapshot NAME=FILE counts them here"
        )


def _deliver(
    source: ConfigFile, rewritten: RewrittenConfig, choice: FileChoice, *, backup: bool
) -> None:
    from agentworld_mcp_shim.wrapping._config_files import back_up, write_in_place, write_new

    if choice.in_place and choice.output is not None:
        raise UsageError("--in-place changes FILE, and -o names another one. Give one of them.")
    changed = rewritten.text != source.text
    if choice.dry_run:
        _print_difference(source, rewritten.text, choice.output or source.path)
    elif choice.in_place and changed:
        # A file with wrapped servers in it is no original worth keeping.
        fresh = not any(one.fate == "already" for one in rewritten.outcomes)
        if backup and fresh:
            _say(f"backup: {back_up(source)}")
        write_in_place(source, rewritten.text)
        _say(f"changed {source.path}; restart the client")
    elif choice.in_place:
        _say(f"{source.path} was not changed")
    elif choice.output is not None:
        if choice.output.resolve() == source.target:
            raise UsageError(f"-o names {source.path} itself. To change it, use --in-place.")
        write_new(choice.output, rewritten.text, like=source.target)
        _say(f"wrote {choice.output}")
    else:
        click.echo(rewritten.text.encode("utf-8"), nl=False)
        _say(
            f"only printed the new file; {source.path} was not changed. --in-place changes it, and keeps"
            " a backup"
        )


def _print_difference(source: ConfigFile, text: str, to: Path) -> None:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in difflib.unified_diff(
        source.text.splitlines(), text.splitlines(), str(source.path), str(to), lineterm=""
    ):
        click.secho(line, fg=colours.get(line[:1]))


def _say(text: str) -> None:
    click.echo(f"agentworld: {text}", err=True)


def _warn(text: str) -> None:
    click.secho(text, fg="yellow", err=True)
