"""Asks a model for parts of a fictional world, until what it writes can be used."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from agentworld_sim.errors import StoreError
from agentworld_sim.fiction.page_base import code_hash
from agentworld_sim.imagination.parsing import parse_reply
from agentworld_sim.imagination.reply_validation import loop_watch
from agentworld_sim.imagination.world_model import DEFAULT_CONTEXT_TOKENS, WorldModel
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.ports.blocking import off_loop
from agentworld_sim.store.home import cache_home
from agentworld_sim.types.json import canonical_json

ROUNDS = 4
"""How often a model may write the same thing, each time with what was wrong before."""

Read = Callable[[Any], tuple[Any, list[str]]]
"""Takes the JSON of a reply, and gives what of all replies can be used, as JSON, and what is wrong with this one."""


class ModelAuthor:
    """A model that writes parts of worlds. What was once used is kept beside the base data, by all that it follows from,
    so that the same is not asked again: a writing that was interrupted goes on."""

    def __init__(self, model: WorldModel) -> None:
        self._model = model
        self._file = cache_home() / "base" / "written.sqlite"

    async def write(
        self, task: str, about: Mapping[str, Any], schema: Mapping[str, Any], read: Read
    ) -> tuple[Any, list[str]]:
        """What a model writes, and what was wrong with its last reply; `None` where nothing could be used.

        Args:
            schema: What its reply must fit, where the server can enforce it.
            read: Judges a reply, which may be any JSON; called off the event loop.

        Raises:
            ModelFailure: the server does not answer, or refuses.
        """
        model, settings = self._model, self._model.settings
        limit = settings.context_tokens
        served = None if settings.model and limit else await model.client.served_model()
        limit = limit or (served and served.context_tokens) or DEFAULT_CONTEXT_TOKENS
        name = settings.model or (served.name if served else "")
        begin = (
            ChatMessage("system", task),
            ChatMessage("user", json.dumps(about, ensure_ascii=False)),
        )
        given = [name, task, about, schema, code_hash()]
        key = hashlib.sha256(canonical_json(given).encode()).hexdigest()
        if (kept := await off_loop(lambda: self._find(key), brief=False)) is not None:
            return kept, []
        messages, value, problems = begin, None, list[str]()
        for attempt in range(ROUNDS):
            request = ChatRequest(
                messages=messages,
                max_tokens=min(settings.max_tokens, limit // 2),
                seed=attempt,
                thinking=settings.thinking,
                thinking_tokens=settings.thinking_tokens,
                schema=schema,
            )
            reply = await model.client.ask(request, watch=loop_watch())
            try:
                data = json.loads(parse_reply(reply.content, enforced=reply.enforced).text)
            except ValueError as error:
                problems = [f"it is not the JSON that was asked for: {error}"]
            else:
                value, problems = await off_loop(lambda data=data: read(data), brief=False)
            if not problems:
                break
            wrong = "This cannot be used:\n" + "\n".join(problems) + "\nWrite it again, corrected."
            messages = (*begin, ChatMessage("assistant", reply.content), ChatMessage("user", wrong))
        if value is not None:
            await off_loop(lambda: self._keep(key, value), brief=False)
        return value, problems

    @contextmanager
    def _database(self) -> Generator[sqlite3.Connection]:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file, timeout=60)) as connection, connection:
                connection.execute("create table if not exists written (key primary key, value)")
                yield connection
        except (OSError, sqlite3.DatabaseError) as error:
            raise StoreError(
                f"What a model wrote cannot be kept in {self._file}: {error}. Name a folder that can be written"
                " (AGENTWORLD_HOME), or remove the file."
            ) from error

    def _find(self, key: str) -> Any:
        with self._database() as connection:
            row = connection.execute("select value from written where key = ?", [key]).fetchone()
        return row and json.loads(row[0])

    def _keep(self, key: str, value: Any) -> None:
        with self._database() as connection:
            text = json.dumps(value, ensure_ascii=False)
            connection.execute("insert or replace into written values (?, ?)", [key, text])
