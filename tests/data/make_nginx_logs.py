"""Writes the log files of the shipped scenario `nginx-logs`, which are committed.

Usage, after a change here: python tests/data/make_nginx_logs.py
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

SCENARIO = (
    Path(__file__).parents[2] / "fixtures" / "agentworld_fixtures" / "scenarios" / "nginx-logs"
)
START = datetime(2026, 3, 2, 6, 0, 0, tzinfo=UTC)
DEPLOYED = datetime(2026, 3, 2, 7, 42, 18, tzinfo=UTC)
"""From here on the API is proxied to a port that nothing listens on."""
END = datetime(2026, 3, 2, 8, 58, 0, tzinfo=UTC)

# RFC 5737: addresses for documentation.
NETWORKS = ("192.0.2.", "198.51.100.", "203.0.113.")

AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:134.0) Gecko/20100101 Firefox/134.0",
    "Mozilla/5.0 (Android 15; Mobile; rv:135.0) Gecko/135.0 Firefox/135.0",
)
FILES = (
    ("/", "index.html"),
    ("/assets/app.js",) * 2,
    ("/assets/app.css",) * 2,
    ("/about.html",) * 2,
)
PAGES = [(url, (SCENARIO / "www" / name.lstrip("/")).stat().st_size) for url, name in FILES]
API = (("GET", "/api/products", 6210), ("GET", "/api/cart", 412), ("POST", "/api/orders", 187))
PROBES = ("/wp-login.php", "/.git/config", "/phpmyadmin/")


def logs() -> tuple[str, str]:
    """The texts of access.log and error.log; the same on every run."""
    rng = random.Random(20260302)
    clients = [(f"{net}{rng.randrange(4, 250)}", rng.choice(AGENTS)) for net in NETWORKS * 9]
    access: list[str] = []
    errors: list[str] = []
    connection = 4100
    now = START
    while now < END:
        address, agent = rng.choice(clients)
        connection += rng.randrange(1, 4)
        kind = rng.random()
        method, (path, size), status = "GET", rng.choice(PAGES), 200
        if kind < 0.45:
            method, path, size = rng.choice(API)
            status = 201 if method == "POST" else 200
            if now >= DEPLOYED:
                status, size = 502, 157
                errors.append(refused(now, connection, address, method, path))
        elif kind < 0.48:
            path, status, size = rng.choice(PROBES), 404, 153
            errors.append(missing(now, connection, address, path))
        elif kind < 0.58:
            status, size = 304, 0
        referer = "-" if status == 404 else "https://shop.example/"
        stamp = now.strftime("%d/%b/%Y:%H:%M:%S +0000")
        access.append(
            f'{address} - - [{stamp}] "{method} {path} HTTP/1.1" {status} {size} '
            f'"{referer}" "{agent}"'
        )
        now += timedelta(seconds=rng.randrange(4, 38))
    errors.append(
        f"{DEPLOYED:%Y/%m/%d %H:%M:%S} [notice] 812#812: signal 1 (SIGHUP) received from 2291, "
        "reconfiguring"
    )
    errors.sort(key=lambda line: line[:19])
    return "\n".join(access) + "\n", "\n".join(errors) + "\n"


def refused(now: datetime, connection: int, address: str, method: str, path: str) -> str:
    return (
        f"{now:%Y/%m/%d %H:%M:%S} [error] 2294#2294: *{connection} connect() failed (111: "
        f"Connection refused) while connecting to upstream, client: {address}, server: "
        f'shop.example, request: "{method} {path} HTTP/1.1", upstream: '
        f'"http://127.0.0.1:8008{path}", host: "shop.example"'
    )


def missing(now: datetime, connection: int, address: str, path: str) -> str:
    worker = 814 if now < DEPLOYED else 2294
    return (
        f"{now:%Y/%m/%d %H:%M:%S} [error] {worker}#{worker}: *{connection} open() "
        f'"/srv/www/shop{path}" failed (2: No such file or directory), client: {address}, server: '
        f'shop.example, request: "GET {path} HTTP/1.1", host: "shop.example"'
    )


if __name__ == "__main__":
    for file_name, text in zip(("access.log", "error.log"), logs(), strict=True):
        (SCENARIO / file_name).write_text(text)
