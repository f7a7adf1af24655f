"""The recorded shapes, which the scripted server is compared with, are those of the real server."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.vllm.server import VllmServer
from tests.vllm.shapes import FILE, capture, shape

RECORDED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture
def captured(http: httpx2.Client, vllm_server: VllmServer) -> dict[str, Any]:
    return capture(http, vllm_server.root)


def test_the_recorded_shapes_are_the_servers(captured: dict[str, Any]) -> None:
    assert shape(captured) == shape(RECORDED)


def test_the_recorded_errors_are_the_servers_to_the_letter(captured: dict[str, Any]) -> None:
    assert captured["errors"] == RECORDED["errors"]
