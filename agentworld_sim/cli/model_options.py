"""Options that name a language world model, the same for every command that has worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldModel

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What the options say."""

    url: str | None = None
    name: str | None = None
    prompts: Path | None = None
    max_tokens: int | None = None
    token_budget: int | None = None
    thinking: bool | None = None

    def find(self) -> WorldModel | None:
        """The model that options and environment name, if any.

        Raises:
            UsageError: an option is not usable; or one is given, and no URL.
        """
        import os

        from agentworld_sim.errors import UsageError

        if self.url is not None and not self.url.strip():
            raise UsageError(
                "--model-url is empty. Give the model's URL, for example http://127.0.0.1:8000/v1, or"
                " leave the option out."
            )
        others = {
            "prompts": self.prompts,
            "max_tokens": self.max_tokens,
            "token_budget": self.token_budget,
            "thinking": self.thinking,
        }
        if not (self.url or os.environ.get("AGENTWORLD_MODEL_URL")):
            given = [
                f"--{'no-' if value is False else ''}{name}".replace("_", "-")
                for name, value in others.items()
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

        return WorldModel.find(url=self.url, model=self.name, **others)


def model_options(command: F) -> F:
    """`--model-url`, `--model` and how it is asked; the command gets them as `model_choice`."""

    @wraps(command)
    def chosen(
        *arguments: Any,
        model_url: str | None,
        model_name: str | None,
        prompts: Path | None,
        max_tokens: int | None,
        token_budget: int | None,
        thinking: bool | None,
        **others: Any,
    ) -> Any:
        choice = ModelChoice(
            url=model_url,
            name=model_name,
            prompts=prompts,
            max_tokens=max_tokens,
            token_budget=token_budget,
            thinking=thinking,
        )
        return command(*arguments, model_choice=choice, **others)

    options = (
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
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Prompt templates of your own: DIR/<domain>/system_prompt.txt (AGENTWORLD_PROMPTS).",
        ),
        click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens of one reply."),
        click.option(
            "--token-budget", type=click.IntRange(min=1), help="Most tokens a world may use."
        ),
        click.option(
            "--thinking/--no-thinking", default=None, help="Whether the model thinks first."
        ),
    )
    wrapped: Any = chosen
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped
