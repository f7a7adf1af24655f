"""Python's own HTTP clients before the internet of a world."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentworld_sim.engines.shell.machine import Machine
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.limited import close_machines
from tests.engines.shell.test_web_clients import ShellWithInternet


@pytest.fixture
def shell() -> Iterator[ShellWithInternet]:
    yield ShellWithInternet()
    close_machines()


def python(shell: MachineShell, code: str) -> str:
    run = shell.run(f"cat > /tmp/code.py <<'END'\n{code}\nEND\npython3 /tmp/code.py")
    return run.stdout + run.stderr


def test_a_page_a_form_and_a_redirect_are_answered_by_the_worlds_hosts(
    shell: ShellWithInternet,
) -> None:
    code = """
from urllib.request import Request, urlopen
page = urlopen("http://shop.test/")
print(page.status, page.read(), page.headers["content-type"])
print(urlopen(Request("http://shop.test/echo?x=1", b"a=b", {"X-Key": "k"})).read().decode())
print(urlopen("http://shop.test/far").url, len(urlopen("http://shop.test/picture").read()))
print(urlopen("http://shop.test/notes", b"from python").status)
print(urlopen(Request("http://shop.test/picture", method="HEAD")).headers["content-length"])
"""
    assert python(shell, code) == (
        "200 b'<h1>Shop</h1>\\n' text/html; charset=utf-8\n"
        "POST /echo?x=1\ncontent-type: application/x-www-form-urlencoded\n"
        "user-agent: Python-urllib/3.12\nx-key: k\na = b\n\n"
        "http://api.shop.test/echo?x=1 76800\n201\n76800\n"
    )
    assert shell.out("curl -s http://shop.test/notes") == "from python\n"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://nowhere.test/", "URLError: <urlopen error [Errno -2] Name or service not known>"),
        ("http://127.0.0.1:8000/", "URLError: <urlopen error [Errno 111] Connection refused>"),
        ("http://10.0.0.1/", "URLError: <urlopen error [Errno 101] Network is unreachable>"),
        ("http://shop.test/gone", "HTTPError: HTTP Error 410: Gone"),
        ("https://shop.test/", "URLError: <urlopen error unknown url type: https>"),
    ],
)
def test_what_cannot_be_reached_is_pythons_own_error(
    shell: ShellWithInternet, url: str, says: str
) -> None:
    assert python(shell, f"from urllib.request import urlopen\nurlopen('{url}')").endswith(
        f"urllib.error.{says}\n"
    )


def test_a_machine_without_internet_resolves_no_name() -> None:
    shell = MachineShell(Machine())
    said = python(shell, "from urllib.request import urlopen\nurlopen('http://shop.test/')")
    assert said.endswith("<urlopen error [Errno -3] Temporary failure in name resolution>\n")
    close_machines()


def test_what_is_no_request_is_a_bad_one(shell: ShellWithInternet) -> None:
    code = """
import socket
near = socket.create_connection(("shop.test", 80))
near.sendall(b"HELO\\r\\n\\r\\n")
print(near.getpeername() == (socket.gethostbyname("shop.test"), 80))
print(near.recv(12))
"""
    assert python(shell, code) == "True\nb'HTTP/1.1 400'\n"
