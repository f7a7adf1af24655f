"""The words that say what a tool does."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.table.operation import Does


def _all(does: Does, verbs: str) -> dict[str, Does]:
    return dict.fromkeys(verbs.split(), does)


VERBS: Mapping[str, Does] = {
    **_all("create", "create add new insert register post make submit log record schedule book"),
    **_all("create", "place raise send open compose draft append"),
    **_all("read", "get read fetch show describe retrieve view load inspect"),
    **_all("list", "list browse enumerate"),
    **_all("search", "search find query lookup filter"),
    **_all("count", "count"),
    **_all(
        "update", "update edit modify patch change set rename move assign unassign reassign mark"
    ),
    **_all("upsert", "upsert save put store write"),
    **_all("delete", "delete remove drop unsubscribe destroy erase purge discard"),
}
"""Verb to what it does, where nothing else is known."""

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "close": ("closed",),
    "reopen": ("reopened", "open", "opened"),
    "complete": ("completed", "complete", "done"),
    "finish": ("finished", "completed", "done"),
    "archive": ("archived",),
    "resolve": ("resolved",),
    "cancel": ("cancelled", "canceled"),
    "approve": ("approved",),
    "reject": ("rejected",),
    "accept": ("accepted",),
    "decline": ("declined",),
    "activate": ("active", "activated", "enabled"),
    "deactivate": ("inactive", "deactivated", "disabled"),
    "enable": ("enabled", "active"),
    "disable": ("disabled", "inactive"),
    "lock": ("locked",),
    "pin": ("pinned",),
    "star": ("starred",),
    "publish": ("published",),
    "pause": ("paused",),
    "resume": ("active", "running"),
    "suspend": ("suspended",),
    "start": ("in_progress", "started", "active"),
    "ship": ("shipped",),
    "mute": ("muted",),
}
"""Verb that writes one fixed value, to the values of a state that it writes."""

SKIPPED = frozenset(
    "a an the all of this any every existing single one multiple many several bulk batch"
    " api mcp new current".split()
)
"""Words that say nothing about what a record is."""

GENERIC = frozenset("record details detail info information data object resource".split())
"""Words after a noun that add nothing: `get_user_details`, `IssueRecord`."""

LINKS = frozenset("to from for of in on into within".split())
"""What follows them is what the record belongs to."""

STATES = ("state", "status", "stage", "phase", "lifecycle", "disposition")
"""Names of fields that say where a record stands."""

BEGINNINGS = frozenset(
    "open opened new todo to_do pending draft created backlog requested submitted active lead unread"
    " scheduled not_started".split()
)
"""Values of such a field that a new record has."""

MACHINERY = frozenset(
    "file directory folder dir path browser tab window screenshot element dom console terminal shell"
    " process command clipboard mouse keyboard cursor sql query statement table schema database db"
    " column git commit diff stash worktree container pod cluster kubernetes docker url webpage web"
    " website html time date datetime timezone weather forecast temperature code script expression"
    " repl kernel cell log output help version environment env system cpu memory disk network"
    " port completion embedding vector similarity".split()
)
"""Nouns of machines, programs and measurements: what a tool says of them is no stored record."""

SWITCHES = frozenset("method action operation op command mode verb".split())
"""Arguments that choose what a tool does, where it does several things."""
