"""`python -m agentworld_sim.llm.scripted`: the scripted server as a process of its own."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

import click

from agentworld_sim.llm.scripted._script import ScriptedReply
from agentworld_sim.llm.scripted._server import DEFAULT_MODEL, ScriptedModelServer

KEY_VARIABLE = "AGENTWORLD_API_KEY"


@click.command()
@click.option("--reply", default="ok", show_default=True, help="What every request is answered.")
@click.option("--observation", is_flag=True, help="Wrap the reply in the observation tag.")
@click.option("--thinking", default="", help="Sent in the reasoning field.")
@click.option("--delay", default=0.0, metavar="SECONDS", help="Before the first byte.")
@click.option("--chunk-delay", default=0.0, metavar="SECONDS", help="Between two chunks.")
@click.option("--chunk-size", default=32, metavar="CHARACTERS", help="Per chunk of a stream.")
@click.option("--model", default=DEFAULT_MODEL, show_default=True, help="The served name.")
@click.option("--max-model-len", default=262_144, show_default=True, help="The context limit.")
@click.option("--require-key", is_flag=True, help=f"Ask for the API key in {KEY_VARIABLE}.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=0, help="0 takes a free one.")
def main(
    reply: str,
    observation: bool,
    thinking: str,
    delay: float,
    chunk_delay: float,
    chunk_size: int,
    model: str,
    max_model_len: int,
    require_key: bool,
    host: str,
    port: int,
) -> None:
    """Answer every chat request alike, print the URL and run until interrupted."""
    key = os.environ.get(KEY_VARIABLE) if require_key else None
    if require_key and not key:
        raise click.UsageError(f"--require-key was given, but {KEY_VARIABLE} is not set.")
    content = ScriptedReply.observation(reply).content if observation else reply
    answer = ScriptedReply(
        content,
        thinking=thinking,
        delay_s=delay,
        seconds_per_chunk=chunk_delay,
        chunk_size=chunk_size,
    )
    stop = threading.Event()

    def stop_server(signum: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, stop_server)
    signal.signal(signal.SIGTERM, stop_server)
    server = ScriptedModelServer(
        lambda _: answer,
        model=model,
        api_key=key,
        max_model_len=max_model_len,
        # A benchmark sends more than memory holds.
        keep_requests=0,
        host=host,
        port=port,
    )
    with server:
        click.echo(server.url)
        stop.wait()


if __name__ == "__main__":
    main()
