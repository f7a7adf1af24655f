"""`WorldModel`: a language world model, as worlds use it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import Briefing

if TYPE_CHECKING:
    from agentworld_sim.imagination.ask_loop import ModelImaginer


class WorldModel:
    """A language world model behind an OpenAI-compatible server.

    One serves any number of worlds, on any number of event loops; they share its connections, its
    limit of requests under way and its cache of replies.

    ```python
    model = WorldModel(ModelSettings(url="http://127.0.0.1:8000/v1"))
    async with await World.create(scenario, model=model) as world:
        ...
    ```
    """

    def __init__(self, settings: ModelSettings, prompts: PromptSet | None = None) -> None:
        """
        Args:
            settings: Where it is and how it is asked.
            prompts: What it is told; the shipped prompts, or those of `settings.prompts`, by default.

        Raises:
            UsageError: the folder of prompts cannot be read.
        """
        self.settings = settings
        if prompts is None:
            folder = settings.prompts
            prompts = PromptSet.shipped() if folder is None else PromptSet.load(folder)
        self.prompts = prompts
        self.client = ChatClient(settings)
        self._users: WeakSet[object] = WeakSet()

    @classmethod
    def find(
        cls, *, url: str | None = None, model: str | None = None, **others: Any
    ) -> WorldModel | None:
        """The model that options and environment variables name; see `ModelSettings.find`.

        Equal settings give the same object, so that all worlds of a process share it.
        """
        settings = ModelSettings.find(url=url, model=model, **others)
        return None if settings is None else _shared(settings, settings.api_key)

    @property
    def name(self) -> str:
        """The model's name at the server, as far as it was chosen."""
        return self.settings.model or ""

    def limited(self, **changes: Any) -> WorldModel:
        """The same model with a scenario's limits, on the same connections and cache.

        What was chosen for the model itself holds: a limit counts where the model has the default.

        Args:
            changes: Fields of `ModelSettings` about how it is asked, not where; `None` changes
                nothing.
        """
        usual = ModelSettings(url=self.settings.url)
        changed = {
            name: value
            for name, value in changes.items()
            if value is not None and getattr(self.settings, name) == getattr(usual, name)
        }
        if not changed:
            return self
        other = copy(self)
        other.settings = replace(self.settings, **changed)
        return other

    def imaginer(
        self, briefing: Briefing | None = None, limits: Mapping[str, Any] | None = None
    ) -> ModelImaginer:
        """What answers with it in the worlds of a scenario.

        Args:
            briefing: What the scenario tells it.
            limits: The scenario's; see `limited`.
        """
        from agentworld_sim.imagination.ask_loop import ModelImaginer

        return ModelImaginer(self.limited(**(limits or {})), briefing)

    def acquire(self, user: object) -> None:
        """Says that `user` uses it."""
        self._users.add(user)

    async def release(self, user: object) -> None:
        """Says that `user` does not use it any more; the last one closes the connections."""
        self._users.discard(user)
        if not self._users:
            await self.client.close()

    async def close(self) -> None:
        """Closes the connections of the running event loop. It can still be used."""
        await self.client.close()


@lru_cache(maxsize=16)
def _shared(settings: ModelSettings, key: str) -> WorldModel:
    del key  # no part of a setting's equality, and yet two keys are two models
    return WorldModel(settings)
