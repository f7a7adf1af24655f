"""What the real `curl` 7.88.1 and `wget` 1.21.3 do before `SmallInternet`, recorded.

unshare -mn python -m tests.engines.shell.record_web_clients    as root; the hosts are made up in a namespace of its own
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from agentworld_sim.engines.web.requests import WebRequest, WebResponse
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.state import WorldState
from agentworld_sim.web_proxy import web_proxy
from tests.engines.shell.small_internet import SmallInternet

RECORDED = Path(__file__).with_name("web_clients.json")
SCRIPTS = r"""
curl http://shop.test/
curl -sS http://nowhere.test/
curl http://nowhere.test/
curl -s http://nowhere.test/
curl -sSf http://shop.test/gone
curl -s --fail http://shop.test/broken; echo $?
curl -sS --fail-with-body http://shop.test/gone
curl http://localhost:8000/
curl
curl -s
curl --nosuch x
curl --data=x http://shop.test
curl -d
curl -sS http://shop.test/echo -o
curl --no-such
curl -sS --da x http://shop.test/echo
curl -sS --hea 'x: y' http://shop.test/echo
curl -sS 'ht!tp://x'
curl -sS foo://x
curl -sS 'http://'
curl -sS ''
curl -sS 'http://shop.test/a b'
curl -sSL http://shop.test/loop
curl -sS 'http://a:b/'
curl -sSL http://shop.test/lost
curl -o /no/such/x http://shop.test/
curl -sS -o /no/such/x http://shop.test/
curl -sS -d @missing http://shop.test/echo
curl -d @missing http://shop.test/echo
curl -sS -F f=@missing http://shop.test/echo
curl -i http://shop.test/there
curl -sIL http://shop.test/there
curl -sSIf http://shop.test/nosuch
curl -sS --head http://shop.test/empty
curl -s -w '%{http_code} %{size_download} %{url_effective} %{content_type} %{num_redirects} %{redirect_url} %{exitcode} %{method}\n' -o /dev/null http://shop.test/there
curl -s -w '%{http_code} %{nosuch}%%\t%{url_effective} %{num_redirects}\n' -L http://shop.test/there
curl -s -o a http://shop.test/nosuch -w '%{http_code}'; cat a
curl -sf -o /dev/null -w '%{http_code}\n' http://shop.test/nosuch
curl -s -o /dev/null -w '%{http_code} %{errormsg}\n' http://nowhere.test
printf '%%{http_code}\n' > form; curl -s -w @form http://shop.test/empty
curl -sSO http://shop.test/list.json; ls
curl -sS -c jar http://shop.test/sign-in; cut -f1-4,6- jar
curl -sS -b jar http://shop.test/echo
curl -sSL -b x=1 http://shop.test/sign-in
curl -sS -b 'a=1; b=2' -b c=3 http://shop.test/echo
curl -sSL -b none -c jar2 http://shop.test/sign-in; curl -s -b jar2 -c jar2 http://shop.test/echo
curl -s http://shop.test/picture -o pic; wc -c pic
curl -sS http://shop.test/picture | wc -c
curl -sS http://shop.test/picture > pic2; cmp pic pic2 && echo same
curl -s http://shop.test/echo --data-binary @- < pic | wc -c
curl -s http://shop.test/there -L | sed -n 1p
curl http://shop.test/picture -o pic
curl -sS http://shop.test/ http://shop.test/list.json -o a; cat a
curl http://shop.test/ http://shop.test/list.json -o a -o b
curl -sS shop.test/echo -d a=1 -d b=2 -G
curl -sS http://shop.test/echo?q=1#frag -G -d z=1
curl -sS http://shop.test/echo --get --data-urlencode 'q=x y&z'
curl -sSi -X POST -L http://shop.test/there -d a
curl -sS -L http://shop.test/there -d a
curl -sS -L http://shop.test/same -d a
curl -sS -L -X PUT http://shop.test/far -d a
curl -sS -L -u a:b http://shop.test/far
curl -Ss --data-urlencode 'a=b c' --data-urlencode 'd&e' --data-urlencode '=x y' --data-raw '@z' http://shop.test/echo
curl -sS -d $'x\ny' -d @- http://shop.test/echo <<< $'p\nq'
curl -sS --data-binary @- http://shop.test/echo -H 'Content-Type: text/plain' <<< $'p\nq'
curl http://shop.test/echo -d aaa
curl -H 'X-Key: 1' -H 'Accept:' -H 'User-Agent: me' -sS http://shop.test/echo -u a:b -e http://ref/
curl -sS a:b@shop.test/echo
curl -sS --json '{"a":1}' http://shop.test/echo
curl -sS -F a=1 -F 'f=@a;type=text/x;filename=q' -F g=@list.json http://shop.test/echo
curl -sS -X DELETE http://shop.test/echo
curl -sS -X POST http://shop.test/echo
curl -sS -d '' http://shop.test/echo
curl -sS HTTP://SHOP.test/echo
curl -sS http://shop.test
curl -sS --url http://shop.test/echo --url http://shop.test/
curl http://shop.test/ -s -S -f -L -k -m 5 --connect-timeout 3 --retry 2 --compressed -N
curl -sS http://shop.test/list.json | jq -c .items
curl -sS http://shop.test/notes -d one; curl -sS http://shop.test/notes -d two; curl -s http://shop.test/notes
for i in 1 2; do curl -so "p$i" "http://shop.test/echo?n=$i"; done; cat p1 p2
if curl -sf http://shop.test/down > /dev/null; then echo up; else echo "down $?"; fi
rm -f *; wget http://shop.test/; ls
wget http://shop.test/list.json
wget http://shop.test/list.json
wget -q http://shop.test/list.json; ls
wget -nv http://shop.test/list.json -O x.json
wget -qO- http://shop.test/echo
wget -O - http://shop.test/echo
wget http://nowhere.test/
wget -q http://nowhere.test/
wget -nv http://nowhere.test/
wget http://shop.test/gone
wget -nv http://shop.test/gone
wget -q http://shop.test/gone
wget http://shop.test/there
wget http://localhost:8000/
wget http://shop.test/lost
wget -q http://shop.test/loop
wget 'http://a:b/'
wget --post-data 'a=1&b=2' -qO- http://shop.test/echo
wget --header 'X-Key: 1' -U me -qO- http://shop.test/echo
wget -P sub -nv http://shop.test/picture; ls -R
wget -P sub http://shop.test/picture
wget
wget --nosuch
wget foo://x
wget -qO- http://shop.test/sign-in
wget 'http://shop.test/echo?a=b&c=d'; ls
wget --no-check-certificate -T 5 -t 1 --timeout=3 -q http://shop.test/ -O q; cat q
wget --progress=dot -O y http://shop.test/picture
wget -q http://shop.test/down || echo $?
"""

_TRANSFER = re.compile(r"(\r(?: *\S+){6}) +\S+ +\S+ --:--:-- --:--:-- --:--:-- +[\d.]+[kM]?")


def plain(text: str) -> str:
    """Without what depends on the moment and the speed of a transfer, and on the network."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT", text)
    text = re.sub(r"\d+\.\d+\.\d+\.\d+", "ADDRESS", text)
    text = re.sub(r"% *[\d.]+[KMG]?(?:=| )[\d.]+s", "% SPEED", text)
    text = re.sub(r"\([\d.]+ [KMG]?B/s\)", "(SPEED)", text)
    text = re.sub(r"after \d+ ms", "after MS", text)
    # The line is written again and again while bytes come.
    return re.sub(r"(?:\r[^\r\n]*)+(?=\r +\d|\r100)", "", _TRANSFER.sub(r"\1", text))


async def record() -> list[dict[str, object]]:
    sites, state = SmallInternet(), WorldState(files=FileTree({}), clock_us=0, seed=0)

    async def answer(request: WebRequest) -> WebResponse | None:
        nonlocal state
        method = "GET" if request.method == "HEAD" else request.method
        found = sites.answer(replace(request, method=method), state)
        if found is None:
            return None
        state = state.after(found[1])
        return found[0]

    recorded: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PATH": os.environ["PATH"], "HOME": "/none", "LANG": "C.UTF-8"}
        async with web_proxy(answer, port=80):
            for script in SCRIPTS.strip().splitlines():
                process = await asyncio.create_subprocess_exec(
                    *("bash", "-c", script),
                    cwd=folder,
                    env=variables,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                out, err = [plain(data.decode()) for data in await process.communicate()]
                said = {"stdout": out, "stderr": err, "exit_code": process.returncode}
                recorded.append({"script": script, **said})
    return recorded


def _make_up_hosts(folder: str) -> None:
    for path, text in {
        "hosts": "127.0.0.1 localhost shop.test api.shop.test\n",
        "resolv.conf": "",
    }.items():
        (Path(folder) / path).write_text(text)
        subprocess.run(["mount", "--bind", f"{folder}/{path}", f"/etc/{path}"], check=True)
    with socket.socket() as loopback:
        fcntl.ioctl(loopback, 0x8914, struct.pack("16sh", b"lo", 0x41))  # It goes up.


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as hosts:
        _make_up_hosts(hosts)
        found = asyncio.run(record())
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
        RECORDED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        subprocess.run(["umount", "/etc/hosts", "/etc/resolv.conf"], check=True)
