"""One site, running: a request and a state give a response and a change of the state, and nothing else happens."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from html import escape
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from agentworld_sim.engines.web.requests import (
    Headers,
    WebRequest,
    WebResponse,
    resolve_url,
    status_text,
)
from agentworld_sim.errors import UsageError
from agentworld_sim.relational.layout import Table
from agentworld_sim.relational.record_table import RecordConflict
from agentworld_sim.scenario.site_file import Route, Site
from agentworld_sim.sites.site_forms import (
    form_errors,
    form_rules,
    parameter_name,
    sent_fields,
)
from agentworld_sim.sites.site_records import SiteRecords, SiteTransaction
from agentworld_sim.sites.site_routes import SiteRoutes, address, filled_json
from agentworld_sim.sites.site_templates import FormData, TemplateFailure, site_templates
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import StateChange, WorldState

ROOT = "sites/"
"""Where the state keeps what sites know beside their tables: sessions, requests that were done, problems."""

MAX_BODY = 2_000_000
MAX_URL = 8_000
NOTED = 10_000
"""Characters of a field that the note of a request keeps."""

_FLASH = "flash"
_ERROR_PAGE = "error.html"
_JSON = "application/json"


@dataclass(slots=True)
class _Refusal(Exception):
    """The request is answered with a status and no page of its own."""

    status: int
    message: str = ""
    headers: Headers = ()


@dataclass(slots=True)
class _Visit:
    """One request to one route."""

    request: WebRequest
    state: WorldState
    records: SiteTransaction
    user: str | None
    cookies: Mapping[str, str]
    changes: dict[str, Any]
    headers: list[tuple[str, str]]

    @property
    def wants_html(self) -> bool:
        return "text/html" in (self.request.header("accept") or "")


class SiteApplication:
    """A site at its hosts."""

    def __init__(self, site: Site, tables: list[Table], *, user: str | None = None) -> None:
        """
        Args:
            user: Who is signed in as long as nobody signs in or out.

        Raises:
            UsageError: SQL cannot hold the tables.
        """
        self.site = site
        self.records = SiteRecords(tables)
        self.templates = site_templates(tuple(sorted(site.templates.items())))
        self.routes = SiteRoutes(site.routes)
        self._user = user
        self._root = f"{ROOT}{site.site}/"

    def answer(self, request: WebRequest, state: WorldState) -> tuple[WebResponse, StateChange]:
        """What the site answers, and what it does to the state. Whatever is sent is answered."""
        cookies = _cookies(request)
        user = self._user
        if self.site.session is not None and (token := cookies.get(self.site.session.cookie)):
            user = state.values.get(f"{self._root}session/{token}", {"user": None})["user"]
        with self.records.transaction(state) as records:
            visit = _Visit(request, state, records, user, cookies, {}, [])
            try:
                response = self._respond(visit)
            except _Refusal as refusal:
                visit.changes = {}
                response = self._error(visit, refusal)
            except UsageError as error:
                # A statement or a template fails: the site's fault, not the visitor's.
                records.undo()
                visit.changes = self._problem(visit, str(error))
                response = self._error(visit, _Refusal(500))
        if request.method == "HEAD":
            response = replace(response, body=b"")
        return response, StateChange(clock_us=state.clock_us, values=visit.changes)

    # One request

    def _respond(self, visit: _Visit) -> WebResponse:
        request = visit.request
        if len(request.url) > MAX_URL:
            raise _Refusal(414)
        if len(request.body) > MAX_BODY:
            raise _Refusal(413)
        path = urlsplit(request.url).path or "/"
        method = "GET" if request.method == "HEAD" else request.method
        if method == "GET" and (text := self.site.static.get(unquote(path))) is not None:
            kind = mimetypes.guess_type(path)[0] or "text/plain"
            return WebResponse(
                body=text.encode(), headers=(("content-type", f"{kind}; charset=utf-8"),)
            )
        found = self.routes.find(method, path)
        if found is None:
            if path == "/favicon.ico":
                return WebResponse(204, headers=())
            if methods := self.routes.methods(path):
                raise _Refusal(405, headers=(("allow", ", ".join(methods)),))
            raise _Refusal(404)
        route, names = found
        parameters = self._parameters(visit, route.query, names)
        if route.signed_in and visit.user is None:
            assert self.site.session is not None
            raise _Refusal(302, headers=(("location", self.site.session.login),))
        single = self._single_rows(visit, route, parameters)
        if route.allow is not None and not visit.records.value(route.allow, parameters):
            raise _Refusal(403)
        if route.method == "POST":
            return self._submit(visit, route, names, parameters, single)
        if route.go is not None and (route.json_ is None or visit.wants_html):
            return self._redirect(visit, route, {**parameters, **single})
        if request.method == "GET":
            for sql in route.visit:
                visit.records.write(sql, parameters)
            visit.changes.update(visit.records.changes)
        return self._show(visit, route, parameters, FormData(), 200)

    def _parameters(
        self, visit: _Visit, query: Mapping[str, str], names: Mapping[str, str]
    ) -> dict[str, Any]:
        sent = dict(reversed(visit.request.query))
        moment = datetime.fromtimestamp(visit.state.clock_us / 1e6, UTC)
        return {
            **{name: sent.get(name, default) for name, default in query.items()},
            **names,
            "user": visit.user,
            "now": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        }

    def _single_rows(
        self, visit: _Visit, route: Route, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, sql in route.row.items():
            rows = visit.records.rows(sql, parameters)
            if not rows:
                raise _Refusal(404)
            found[name] = rows[0]
        return found

    def _submit(
        self,
        visit: _Visit,
        route: Route,
        names: Mapping[str, str],
        parameters: dict[str, Any],
        single: Mapping[str, Any],
    ) -> WebResponse:
        rules = form_rules(route, names)
        try:
            sent = sent_fields(visit.request)
        except (ValueError, RecursionError, LookupError) as error:
            raise _Refusal(400, str(error)) from None
        values = {name: "" for name in rules}
        values |= {name: text for name, text in reversed(sent) if name in rules}
        for name in (name for name, rule in rules.items() if rule.many):
            chosen = [text for field, text in sent if field == name and text]
            values[name] = json.dumps(chosen) if chosen else ""
        parameters |= {parameter_name(name, rule): values[name] for name, rule in rules.items()}
        records = visit.records
        errors = form_errors(route, rules, values, parameters, records)
        made: Mapping[str, Any] = {}
        if not errors:
            try:
                for sql in route.do:
                    result = records.write(sql, parameters)
                    if result.new_records and not made:
                        made = result.new_records[0]
                        parameters |= {f"new_{name}": one for name, one in made.items()}
            except RecordConflict:
                records.undo()
                errors = {"": "This cannot be saved: it contradicts what is there."}
        if errors:
            return self._show_again(visit, route, names, values, errors)
        visit.changes.update(records.changes)
        self._sign(visit, route, parameters)
        if route.go is not None and (route.json_ is None or visit.wants_html):
            response = self._redirect(visit, route, {**parameters, **single, "new": made})
        else:
            response = self._show(visit, route, {**parameters, "new": made}, FormData(), 200)
        self._note(visit, [(name, text) for name, text in sent if name in rules], response.status)
        return response

    def _sign(self, visit: _Visit, route: Route, parameters: Mapping[str, Any]) -> None:
        session = self.site.session
        if session is None or not (route.sign_in or route.sign_out):
            return
        user = None
        if route.sign_in is not None:
            user = visit.records.value(route.sign_in, parameters)
        said = canonical_json([visit.state.seed, visit.state.clock_us, self.site.site, user])
        token = blake2b(said.encode(), digest_size=16).hexdigest()
        visit.changes[f"{self._root}session/{token}"] = {"user": user}
        visit.headers.append(("set-cookie", f"{session.cookie}={token}; path=/; httponly"))

    def _note(self, visit: _Visit, fields: list[tuple[str, str]], status: int) -> None:
        request = visit.request
        note = {
            "method": request.method,
            "url": request.url,
            "fields": [[name, text[:NOTED]] for name, text in fields],
            "status": status,
            "user": visit.user,
        }
        mark = blake2b(canonical_json(note).encode(), digest_size=6).hexdigest()
        # In the order of time, and the same in two branches that do the same.
        visit.changes[f"{self._root}request/{visit.state.clock_us}-{mark}"] = note

    def _redirect(self, visit: _Visit, route: Route, context: Mapping[str, Any]) -> WebResponse:
        go = route.go or "/"
        if go == "back":
            before = resolve_url(visit.request.url, visit.request.header("referer") or "/")
            start = resolve_url(visit.request.url, "/")
            is_here = before.startswith(start)
            location = "/" + before.removeprefix(start).lstrip("/") if is_here else "/"
        else:
            try:
                location = address(go, context)
            except (KeyError, TypeError) as error:
                raise TemplateFailure(
                    f"`go: {go}` of {route.pattern}: there is no {error}"
                ) from None
        if route.flash is not None:
            try:
                text = quote(str(filled_json(route.flash, context)), safe="")
            except (KeyError, TypeError) as error:
                raise TemplateFailure(f"`flash` of {route.pattern}: there is no {error}") from None
            visit.headers.append(("set-cookie", f"{_FLASH}={text}; path=/"))
        kind = ("content-type", "text/html; charset=utf-8")
        page = f'<!doctype html><title>Redirecting</title><p><a href="{escape(location)}">Go on</a></p>'
        return WebResponse(302, page.encode(), (kind, ("location", location), *visit.headers))

    # Pages

    def _show_again(
        self,
        visit: _Visit,
        route: Route,
        names: Mapping[str, str],
        values: Mapping[str, str],
        errors: Mapping[str, str],
    ) -> WebResponse:
        """The page of the form once more, with what was typed and what is wrong with it."""
        path = address(route.again, names) if route.again else urlsplit(visit.request.url).path
        found = self.routes.find("GET", path or "/")
        if found is None or found[0].page is None or not visit.wants_html:
            raise _Refusal(422, " ".join(dict.fromkeys(errors.values())))
        parameters = self._parameters(visit, found[0].query, found[1])
        return self._show(visit, found[0], parameters, FormData(values, errors), 422)

    def _show(
        self,
        visit: _Visit,
        route: Route,
        parameters: Mapping[str, Any],
        form: FormData,
        status: int,
    ) -> WebResponse:
        records = visit.records
        context: dict[str, Any] = {**parameters, **self._single_rows(visit, route, parameters)}
        for name, sql in route.rows.items():
            if name in route.pages:
                context[name], context["pages"] = self._page_of(
                    visit, sql, route.pages[name], parameters
                )
            else:
                context[name] = records.rows(sql, parameters)
        if route.json_ is not None:
            try:
                body = json.dumps(filled_json(route.json_, context), ensure_ascii=False)
            except (KeyError, TypeError) as error:
                raise TemplateFailure(f"`json` of {route.pattern}: there is no {error}") from None
            return WebResponse(status, body.encode(), (("content-type", _JSON), *visit.headers))
        context |= {"form": form, **route.data}
        return self._page(visit, route.page or "", context, status)

    def _page_of(
        self, visit: _Visit, sql: str, size: int, parameters: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        fields = [(name, value) for name, value in visit.request.query if name != "page"]
        asked = dict(visit.request.query).get("page", "1")
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1
        number = max(number, 1)
        cut = {**parameters, "page_size": size + 1, "page_start": (number - 1) * size}
        rows = visit.records.rows(f"{sql}\nLIMIT :page_size OFFSET :page_start", cut)

        def link(other: int) -> str:
            return f"?{urlencode([*fields, ('page', str(other))])}"

        pages = {
            "number": number,
            "next": link(number + 1) if len(rows) > size else "",
            "previous": link(number - 1) if number > 1 else "",
        }
        return rows[:size], pages

    def _page(
        self, visit: _Visit, template: str, context: Mapping[str, Any], status: int
    ) -> WebResponse:
        flash = visit.cookies.get(_FLASH, "")
        known = {"user": context["user"], "now": context["now"]}
        common = {name: visit.records.rows(sql, known) for name, sql in self.site.rows.items()}
        text = self.templates.render(
            template,
            {
                "pages": {},
                **common,
                **context,
                "site": self.site.title,
                "path": visit.request.path,
                "query": dict(reversed(visit.request.query)),
                "flash": unquote(flash),
            },
        )
        headers = [("content-type", "text/html; charset=utf-8"), *visit.headers]
        if flash:
            headers.append(("set-cookie", f"{_FLASH}=; path=/; max-age=0"))
        return WebResponse(status, text.encode("utf-8", "replace"), tuple(headers))

    def _error(self, visit: _Visit, refusal: _Refusal) -> WebResponse:
        status, visit.headers = refusal.status, list(refusal.headers)
        phrase = status_text(status)
        if not visit.wants_html and _JSON in (visit.request.header("accept") or ""):
            body = json.dumps({"error": refusal.message or phrase})
            return WebResponse(status, body.encode(), (("content-type", _JSON), *visit.headers))
        if _ERROR_PAGE in self.site.templates and status not in (302, 414):
            about = {"status": status, "message": refusal.message or phrase, "form": FormData()}
            try:
                context = {**self._parameters(visit, {}, {}), **about}
                return self._page(visit, _ERROR_PAGE, context, status)
            except UsageError as error:
                visit.changes.update(self._problem(visit, str(error)))
        said = escape(refusal.message or phrase)
        page = f"<!doctype html><html lang=en><title>{status} {phrase}</title><h1>{phrase}</h1><p>{said}</p></html>"
        return WebResponse(
            status, page.encode(), (("content-type", "text/html; charset=utf-8"), *visit.headers)
        )

    def _problem(self, visit: _Visit, message: str) -> dict[str, Any]:
        """Keeps what failed, once for each reason."""
        mark = blake2b(message.encode("utf-8", "replace"), digest_size=6).hexdigest()
        key = f"{self._root}problem/{mark}"
        if key in visit.state.values:
            return {}
        return {key: {"url": visit.request.url[:MAX_URL], "message": message}}


def noted_requests(values: Mapping[str, Any], site: str | None = None) -> list[Mapping[str, Any]]:
    """The forms that the sites of a world accepted, or one of them, in their order: `method`, `url`, `fields`
    (name and text), `status`, `user`."""
    found = [
        (path.rpartition("/")[2], one)
        for path, one in values.items()
        if path.startswith(ROOT if site is None else f"{ROOT}{site}/")
        and path.split("/")[2] == "request"
    ]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _cookies(request: WebRequest) -> dict[str, str]:
    pairs = (one.partition("=") for one in (request.header("cookie") or "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
