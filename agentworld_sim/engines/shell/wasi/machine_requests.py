"""What a program asks the machine beyond WASI: to run another program, to change modes and owners, to copy a descriptor,
to ask a host of the world's internet.

A program opens `/dev/.machine`, writes one line of JSON, perhaps followed by bytes, and reads one line of JSON, perhaps
followed by bytes. `{"do": NAME, …}` says what is asked; an answer of `{"errno": NUMBER}` is a failure, with Linux's
number. What follows the bytes of a call's own kind stands at its function.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.commands import programs
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.engines.shell.wasi.wasi_kernel import WasiKernel

Fields = Mapping[str, Any]
Reply = tuple[Fields, bytes]

Request = Callable[[WasiKernel, Fields, bytes], Reply]
"""Answers one kind of request: from its line and its bytes to those of the answer. Raises `OSError` for what fails."""

DEEPEST = 8
"""Programs that start each other, before the machine has no process left."""


class Requests:
    """The requests of the programs that one command of the shell runs."""

    def __init__(self, call: CommandCall, more: Mapping[str, Request]) -> None:
        """`more` are requests that only this kind of program has, by name."""
        self._call = call
        self._kinds: Mapping[str, Request] = {
            "spawn": self._spawn,
            "chmod": self._chmod,
            "chown": self._chown,
            "dup": self._dup,
            "resolve": self._resolve,
            "http": self._http,
            **more,
        }

    def answer(self, kernel: WasiKernel, request: bytes) -> bytes:
        """The answer to what a program has written to `/dev/.machine`."""
        line, _, data = request.partition(b"\n")
        try:
            fields = json.loads(line)
            answer, rest = self._kinds[fields["do"]](kernel, fields, data)
        except OSError as error:
            answer, rest = {"errno": error.errno or errno.EIO}, b""
        except (KeyError, TypeError, ValueError):
            # Whatever a program may write there.
            answer, rest = {"errno": errno.EINVAL}, b""
        return json.dumps(answer).encode() + b"\n" + rest

    def _spawn(self, kernel: WasiKernel, fields: Fields, stdin: bytes) -> Reply:
        """Runs `argv` in `cwd` with exactly `env` and `stdin`, and waits for its end.

        The answer has `exit` and the sizes `out` and `err` of the outputs that follow. With `merge`, both are one.
        """
        if self._call.depth >= DEEPEST:
            raise OSError(errno.EAGAIN, "")
        kernel.give_back()
        name = fields["argv"][0].removeprefix("/usr/bin/")
        run = self._start if name in programs() else self._run_beside
        code, out, err = run(name, fields, stdin.decode("utf-8", "surrogateescape"))
        kernel.files.forget(kernel.open_nodes())
        return {"exit": code, "out": len(out), "err": len(err)}, out + err

    def _start(self, name: str, fields: Fields, stdin: str) -> tuple[int, bytes, bytes]:
        """Runs a program of the extra; its exit code and outputs."""
        result = self._call.native(
            fields["argv"][1:], stdin, program=name, cwd=fields["cwd"], env=fields["env"]
        )
        pieces = result.pieces or (("out", result.stdout), ("err", result.stderr))
        merge = fields.get("merge", False)
        out, err = (
            "".join(text for name, text in pieces if merge or name == which).encode(
                "utf-8", "surrogateescape"
            )
            for which in ("out", "err")
        )
        return result.exit_code, out, b"" if merge else err

    def _run_beside(self, _: str, fields: Fields, stdin: str) -> tuple[int, bytes, bytes]:
        """Runs any other command in an interpreter of the shell, with its outputs in files, which hold any bytes."""
        places = [f"/dev/.spawn-{self._call.depth}-{name}" for name in ("out", "err")]
        env = [f"{name}={value}" for name, value in fields["env"].items()]
        words = " ".join(map(quote_word, ["env", "-i", *env, *fields["argv"]]))
        where = f"> {places[0]} 2>{'&1' if fields.get('merge') else places[1]}"
        script = f"cd {quote_word(fields['cwd'])} && {words} {where}"
        code = self._call.native(["-c", script], stdin, program="bash").exit_code
        out, err = map(self._call.files.take_device, places)
        return code, out, err

    def _chmod(self, kernel: WasiKernel, fields: Fields, _: bytes) -> Reply:
        """Gives the file at `path` the permission bits `mode`."""
        kernel.files.set_mode(kernel.files.find(fields["path"]), fields["mode"] & 0o7777)
        return {}, b""

    def _chown(self, kernel: WasiKernel, fields: Fields, _: bytes) -> Reply:
        """Gives the file at `path` to `uid` and `gid`; -1 leaves one as it is. With `follow` false, a link itself."""
        node = kernel.files.find(fields["path"], follow=fields.get("follow", True))
        users, groups = user_names(self._call), group_names(self._call)
        owner = users.lookup(str(fields["uid"])) if fields["uid"] >= 0 else None
        group = groups.lookup(str(fields["gid"])) if fields["gid"] >= 0 else None
        kernel.files.set_owner(node, owner, group)
        return {}, b""

    def _dup(self, kernel: WasiKernel, fields: Fields, _: bytes) -> Reply:
        """A copy of the descriptor `fd`, as `to` or, without it, as the lowest free one; the answer has it as `fd`."""
        return {"fd": kernel.duplicate(fields["fd"], fields.get("to"))}, b""

    def _resolve(self, _kernel: WasiKernel, fields: Fields, _: bytes) -> Reply:
        """The `address` of `host`. EAGAIN on a machine without internet, ENOENT where no host has that name."""
        if self._call.network is None:
            raise OSError(errno.EAGAIN, "")
        # Imported late, as below: most programs ask for nothing.
        from agentworld_sim.engines.shell.commands._http_client import place_of

        if not self._call.network.has_host(fields["host"]):
            raise OSError(errno.ENOENT, "")
        return {"address": place_of(f"http://{fields['host']}/")[1]}, b""

    def _http(self, kernel: WasiKernel, fields: Fields, data: bytes) -> Reply:
        """What `host` sends when it is sent `data`."""
        from agentworld_sim.engines.shell.commands._http_client import head_text
        from agentworld_sim.engines.web.requests import WebRequest, WebResponse, normal_url

        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":")[::2] for line in lines)
        headers = {name.lower(): value.strip() for name, value in pairs}
        method, _, target = first.removesuffix(" HTTP/1.1").removesuffix(" HTTP/1.0").partition(" ")
        response: WebResponse | None = WebResponse(411, headers=())
        if not target.startswith("/"):
            response = WebResponse(400, headers=())
        elif "transfer-encoding" not in headers:
            kernel.settle_clock()
            url = normal_url(f"http://{headers.get('host', fields['host'])}{target}")
            request = WebRequest(url, method, tuple(headers.items()), body)
            response = self._call.network and self._call.network.answer(request)
        if response is None:
            return {}, b""
        told = head_text(response).removesuffix("\r\n") + "connection: close\r\n\r\n"
        return {}, told.encode() + response.body * (method != "HEAD")
