"""The sites of a scenario as its internet, and the records that they begin with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from agentworld_sim.engines.table import Plan, Table
from agentworld_sim.engines.table.initial_rows import initial_records, initial_values
from agentworld_sim.engines.web.requests import WebRequest, WebResponse
from agentworld_sim.errors import ScenarioError, UsageError
from agentworld_sim.scenario import Scenario
from agentworld_sim.scenario.site_file import ADMIN, Site
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.sites.admin_site import admin_site
from agentworld_sim.sites.site_application import SiteApplication
from agentworld_sim.sites.site_problems import site_problems
from agentworld_sim.sites.site_templates import TemplateFailure, site_templates
from agentworld_sim.types.state import StateChange, WorldState

T = TypeVar("T")


class SiteInternet:
    """Implements `Internet` by sites."""

    def __init__(self, applications: list[SiteApplication]) -> None:
        self._by_host = {host: one for one in applications for host in one.site.hosts}
        self.applications = tuple(applications)

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        try:
            host = request.host
            urlsplit(request.url).port  # noqa: B018 -- it says what is no URL
        except ValueError:
            return None
        found = self._by_host.get(host) or self._by_host.get(host.rpartition(":")[0])
        return None if found is None else found.answer(request, state)

    def hosts(self, state: WorldState) -> list[str]:
        return sorted(self._by_host)


def scenario_internet(scenario: Scenario) -> SiteInternet | None:
    """The sites of a scenario; `None` where it has none.

    Raises:
        ScenarioError: two answer at one host, or one shows a table that is not there.
    """
    if not scenario.sites:
        return None
    tables: dict[str, Table] = scenario.table_options()["tables"]
    tables.pop("*", None)
    applications: list[SiteApplication] = []
    for entry, site in scenario.site_uses():
        if site is None:
            names = entry.tables or tuple(tables)
            if missing := [name for name in names if name not in tables]:
                raise ScenarioError(
                    f"the site {ADMIN!r} shows the table {missing[0]!r}, which the scenario does not"
                    f" declare. Tables: {', '.join(tables) or 'none'}."
                )
            site = admin_site([tables[name] for name in names], entry.hosts)
            own = [tables[name] for name in names]
        else:
            own = [tables[name] for name in site.tables]
        applications.append(SiteApplication(site, own, user=entry.user))
    hosts = [host for one in applications for host in one.site.hosts]
    if twice := [host for host in hosts if hosts.count(host) > 1]:
        raise ScenarioError(f"two sites answer at {twice[0]!r}. Give one of them other `hosts`.")
    return SiteInternet(applications)


def check_sites(scenario: Scenario) -> None:
    """Looks for what cannot work in the sites that do not come with the library.

    Raises:
        ScenarioError: there is something: every problem of a site with its place.
    """
    internet = scenario_internet(scenario)
    used = scenario.site_uses()
    for (entry, site), one in zip(used, internet.applications if internet else (), strict=True):
        if entry.site is None and site is not None and (problems := site_problems(one)):
            raise site.error_of(problems)


def first_records(scenario: Scenario) -> Mapping[str, Any]:
    """What the state holds of the tables of sites at the world's first moment.

    Raises:
        ScenarioError: a record does not fit its table, or two have one key.
    """
    values: dict[str, Any] = {}
    tables: dict[str, Table] = scenario.table_options()["tables"]
    owned = {name for _, site in scenario.site_uses() if site for name in site.tables}
    for entry, site in scenario.site_uses():
        if site is None:
            # It shows tables that no site owns too; otherwise they begin when a tool first touches them.
            for name in sorted({*(entry.tables or tables)} - owned - {"*"}):
                held = initial_records(
                    Plan(tables=tables),
                    tables[name],
                    seed=scenario.seed,
                    clock_us=scenario.clock_us,
                )
                values |= initial_values(tables[name], held)
            continue
        added = _start_records(site, scenario.seed, scenario.clock_us)
        for name, spec in site.tables.items():
            own = [*spec.records, *added.get(name, ())]
            key = spec.key or ("id",)
            more = scenario.tables[name].records if name in scenario.tables else ()
            taken = [tuple(record.get(field) for field in key) for record in more]
            kept = [one for one in own if tuple(one.get(field) for field in key) not in taken]
            values |= _values_of(site, tables[name], [*kept, *more], scenario)
    return values


def _values_of(
    site: Site, table: Table, records: list[Mapping[str, Any]], scenario: Scenario
) -> dict[str, Any]:
    from dataclasses import replace

    for record in records:
        for name, value in record.items():
            problem = schema_problem(table.fields[name], value) if name in table.fields else None
            if problem is not None:
                raise ScenarioError(
                    f"{site.site}: a record of {table.name!r}: {name!r}: {problem}."
                )
    whole = replace(table, records=tuple(records), generate=table.generate or 0)
    try:
        held = initial_records(
            Plan(tables={table.name: whole}), whole, seed=scenario.seed, clock_us=scenario.clock_us
        )
    except UsageError as error:
        raise ScenarioError(f"{site.site}: {error}") from None
    return initial_values(whole, held)


def _start_records(site: Site, seed: int, clock_us: int) -> Mapping[str, list[Mapping[str, Any]]]:
    if site.start is None:
        return {}
    return _records_written(site.start, tuple(sorted(site.templates.items())), seed, clock_us)


@lru_cache(maxsize=8)
def _records_written(
    name: str, templates: tuple[tuple[str, str], ...], seed: int, clock_us: int
) -> Mapping[str, list[Mapping[str, Any]]]:
    """The records that a template writes, by table."""
    chance = Random(seed)
    moment = datetime.fromtimestamp(clock_us // 1_000_000, UTC)

    def pick(things: list[T]) -> T:
        return things[int(chance.random() * len(things))]

    def number(least: int, most: int) -> int:
        return least + int(chance.random() * (most - least + 1))

    def ago(days: float) -> str:
        return f"{moment - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"

    def stamp(days: float) -> int:
        return int((moment - timedelta(days=days)).timestamp())

    given = {"pick": pick, "number": number, "ago": ago, "moment": stamp}
    found: dict[str, list[Mapping[str, Any]]] = {}
    for line in site_templates(templates).render(name, given).splitlines():
        if not line.strip():
            continue
        try:
            said = cast("dict[str, Any]", json.loads(line))
            found.setdefault(said["table"], []).append(said["record"])
        except (ValueError, KeyError, TypeError):
            raise TemplateFailure(
                f'the template {name!r} writes {line[:80]!r}; a line is {{"table": …, "record": {{…}}}}'
            ) from None
    return found
