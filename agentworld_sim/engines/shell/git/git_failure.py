"""What git says when it gives up."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import NotComputed


class GitFailure(Exception):
    """Carries all that git prints to its standard error, and its exit code."""

    def __init__(self, text: str, exit_code: int = 128) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def fatal(text: str) -> GitFailure:
    return GitFailure(f"fatal: {text}\n")


def error(text: str, exit_code: int = 1) -> GitFailure:
    return GitFailure(f"error: {text}\n", exit_code)


def unknown_paths(texts: list[str]) -> GitFailure:
    said = "error: pathspec '{}' did not match any file(s) known to git\n"
    return GitFailure("".join(map(said.format, texts)), 1)


def not_computed(what: str) -> NotComputed:
    """For all that this git does not know: it never answers wrongly."""
    return NotComputed(
        f"The machine's git does not compute: git {what}. Have it done with other commands, or name a language world"
        " model that imagines it: AGENTWORLD_MODEL_URL, or `model=`."
    )
