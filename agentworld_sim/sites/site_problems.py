"""What cannot work in a site, found when it is loaded: statements, templates, links that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.relational.record_table import RecordConflict
from agentworld_sim.scenario.site_file import PLACEHOLDER, FieldRule, Route
from agentworld_sim.sites.site_application import SiteApplication
from agentworld_sim.sites.site_forms import parameter_name
from agentworld_sim.sites.site_records import SiteTransaction
from agentworld_sim.sites.site_routes import SitePath
from agentworld_sim.sites.site_templates import TemplateNeeds
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.state import WorldState

Key = tuple[str | int, ...]
Problems = list[tuple[Key, str]]

_KNOWN = frozenset(
    "site user path query form flash pages status message now super self caller loop varargs kwargs".split()
)
_LINK = re.compile(r"""\b(?:href|src)\s*=\s*["']([^"']*)["']""")
_FORM = re.compile(r"<form\b((?:\{\{.*?\}\}|\{%.*?%\}|[^>])*)>", re.DOTALL)
_ACTION = re.compile(r"""\baction\s*=\s*["']([^"']*)["']""")
_POSTS = re.compile(r"""\bmethod\s*=\s*["']?post""", re.IGNORECASE)
_NEW = re.compile(r":(new_[A-Za-z0-9_]+)")


def site_problems(application: SiteApplication) -> Problems:
    """All problems, each with its key in the site's file."""
    found: Problems = []
    needs = TemplateNeeds(application.templates)
    state = WorldState(files=FileTree({}), clock_us=0, seed=0)
    with application.records.transaction(state) as records:
        for number, route in enumerate(application.site.routes):
            place: Key = ("routes", number)
            found += [((*place, *key), text) for key, text in _statement_problems(route, records)]
            found += [
                ((*place, *key), text) for key, text in _page_problems(application, route, needs)
            ]
            for name, to in (("go", route.go), ("again", route.again)):
                link = PLACEHOLDER.sub("\0", to or "back").partition("?")[0]
                problem = None if link == "back" else _link_problem(application, "GET", link)
                found += [((*place, name), problem)] if problem else []
        common = {"user": None, "now": ""}
        for name, sql in application.site.rows.items():
            found += _run(("rows", name), lambda sql=sql: records.rows(sql, common))
    for name, text in application.site.templates.items():
        found += [(("templates", name), problem) for problem in _dead_links(application, text)]
    return found


def _run(key: Key, run: Callable[[], object]) -> Problems:
    try:
        run()
    except RecordConflict:
        # It can be run, and there are no records here that it could work on.
        return []
    except UsageError as error:
        return [] if "datatype mismatch" in str(error) else [(key, str(error))]
    return []


def _statement_problems(route: Route, records: SiteTransaction) -> Problems:
    names = [found[1] for found in PLACEHOLDER.finditer(route.pattern)]
    before: dict[str, Any] = {**dict.fromkeys([*names, *route.query], ""), "user": None, "now": ""}
    fields = {
        parameter_name(field, rule): "[]" if rule.many else "" for field, rule in route.form.items()
    }
    given = {**before, **fields}
    found: Problems = [
        ((), f"{name!r} has a meaning in SQL already. Rename the part of the path or the field.")
        for name in ("user", "now")
        if name in (*names, *route.query, *fields)
    ]

    def look(key: Key, sql: str, known: Mapping[str, Any]) -> None:
        found.extend(_run(key, lambda: records.rows(sql, known)))

    for name, sql in route.row.items():
        look(("row", name), sql, before)
    for name, sql in route.rows.items():
        look(("rows", name), sql, given)
    for number, sql in enumerate(route.visit):
        found += _run(("visit", number), lambda sql=sql: records.write(sql, before))
    if route.allow is not None:
        look(("allow",), f"SELECT ({route.allow}\n)", before)
    for field, rule in route.form.items():
        found += [
            (("form", field, *key), text)
            for key, text in _rule_problems(rule, route, records, given)
        ]
    for message, sql in route.refuse.items():
        look(("refuse", message), sql, given)
    for number, sql in enumerate(route.do):
        new = dict.fromkeys(_NEW.findall(sql)) if number else {}
        found += _run(("do", number), lambda sql=sql, new=new: records.write(sql, {**given, **new}))
    if route.sign_in is not None:
        look(("sign_in",), f"SELECT ({route.sign_in}\n)", given)
    return found


def _rule_problems(
    rule: FieldRule, route: Route, records: SiteTransaction, given: Mapping[str, Any]
) -> Iterator[tuple[Key, str]]:
    if isinstance(rule.choices, str):
        sql = rule.choices
        yield from _run(("choices",), lambda: records.rows(sql, given))
    if rule.unique is not None:
        table, _, field = rule.unique.partition(".")
        sql = f'SELECT "{table}"."{field}" FROM "{table}"'
        yield from _run(("unique",), lambda: records.rows(sql, {}))
    if rule.matches is not None and rule.matches not in route.form:
        hint = nearest(rule.matches, route.form)
        yield ("matches",), f"the form has no field {rule.matches!r}.{hint}"


def _page_problems(
    application: SiteApplication, route: Route, needs: TemplateNeeds
) -> Iterator[tuple[Key, str]]:
    if route.page is None:
        return
    names = {found[1] for found in PLACEHOLDER.finditer(route.pattern)}
    names |= {*route.query, *route.row, *route.rows, *route.data, *application.site.rows}
    names |= {parameter_name(field, rule) for field, rule in route.form.items()}
    try:
        for template, variable in sorted(needs.of(route.page)):
            if variable not in names | _KNOWN:
                hint = nearest(variable, names | _KNOWN)
                yield (
                    ("page",),
                    f"the template {template!r} uses {variable!r}, which nothing gives.{hint}",
                )
    except UsageError as error:
        yield ("page",), str(error)


def _dead_links(application: SiteApplication, text: str) -> Iterator[str]:
    plain = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
    plain = re.sub(r"\{\{.*?\}\}", "\0", plain, flags=re.DOTALL)
    plain = re.sub(r"\{%.*?%\}", "", plain, flags=re.DOTALL)
    links = [("GET", link) for link in _LINK.findall(plain)]
    for attributes in _FORM.findall(plain):
        method = "POST" if _POSTS.search(attributes) else "GET"
        links += [(method, link) for link in _ACTION.findall(attributes)]
    for method, link in dict.fromkeys(links):
        path = re.split("[?#]", link)[0]
        if path.startswith("/") and (problem := _link_problem(application, method, path)):
            yield problem


def _link_problem(application: SiteApplication, method: str, path: str) -> str | None:
    if method == "GET" and any(SitePath(one).may_be(path) for one in application.site.static):
        return None
    known = [one for one, route in application.routes.paths if route.method == method]
    if any(one.may_be(path) for one in known):
        return None
    shown = path.replace("\0", "{…}")
    hint = nearest(shown, [one.pattern for one in known])
    return f"{method} {shown} leads nowhere: no route has that path.{hint}"
