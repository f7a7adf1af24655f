"""`openssl`: digests, base64, random bytes and its version. Other commands are refused, not imitated."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from contextlib import suppress

from agentworld_sim.engines.shell.bash_texts import unfaithful
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.shell.programs import DATA, PACKAGE_OF_COMMAND

_SHOWN = {
    **{f"sha{n}": f"SHA2-{n}" for n in ("224", "256", "384", "512")},
    **{f"sha3-{n}": f"SHA3-{n}" for n in ("224", "256", "384", "512")},
    "md5": "MD5", "sha1": "SHA1", "blake2b512": "BLAKE2B-512", "blake2s256": "BLAKE2S-256",
}  # fmt: skip
"""Digests, and how their results are marked."""

_FLAGS = {name: "" for name in ("r", "c", "hex", "binary", *_SHOWN)}
_DIGEST = Options("", {**_FLAGS, "hmac": ":", "out": ":", "mac": ":", "macopt": ":", "sign": ":", "verify": ":"})  # fmt: skip
_ENCODING = Options("", {**{n: "" for n in ("base64", "a", "d", "e", "A")}, "in": ":", "out": ":"})
_RANDOM = Options("", {"hex": "", "base64": "", "out": ":"})
_COMMANDS = frozenset((DATA / "openssl_commands.txt").read_text("utf-8").split())


@tool
def openssl(t: Tool) -> None:
    name, *words = t.call.argv or ["help"]
    encodes = "-aes" not in " ".join(words) and {"-base64", "-a"} & set(words)
    if name == "version" and set(words) <= {"-v"}:
        t.say(PACKAGE_OF_COMMAND["openssl"].banner.rstrip("\n"))
    elif name in ("dgst", *_SHOWN):
        _digest(t, name, words)
    elif name == "rand":
        _random(t, words)
    elif name == "base64" or (name == "enc" and encodes):
        _encode(t, name, words)
    elif name in _COMMANDS:
        raise unfaithful(f"openssl {name}", " ".join(("openssl", *t.call.argv)))
    else:
        raise UsageError(f"Invalid command '{name}'; type \"help\" for a list.\n")


def _parse(options: Options, name: str, words: list[str]) -> CommandLine:
    """A command line whose long options begin with one dash."""
    words = ["-" + word if word[:1] == "-" != word else word for word in words]
    try:
        return options.parse(name, words)
    except UsageError as error:
        bad = re.search(r"option '--([^']*)'", error.result.stderr)
        said = f"Unknown option{' or message digest: ' if name == 'dgst' else ': -'}{bad[1] if bad else ''}"
        raise UsageError(f"{name}: {said}\n{name}: Use -help for summary.\n") from None


def _read(t: Tool, path: str | None, said: str) -> bytes:
    try:
        return t.call.read_stdin() if path is None else t.files.read(t.path(path))
    except OSError as error:
        raise UsageError(said.format(path, strerror(error)) + "\n") from None


def _write(t: Tool, given: CommandLine, data: bytes) -> None:
    target = given.value("out")
    if target is None:
        t.out.append(data.decode("utf-8", "surrogateescape"))
    else:
        t.files.write(t.path(target), data)


def _digest(t: Tool, name: str, words: list[str]) -> None:
    given = _parse(_DIGEST, name, words)
    if given.last("mac", "macopt", "sign", "verify"):
        raise unfaithful("openssl dgst with a key", " ".join(t.call.argv))
    chosen = given.last(*_SHOWN) or (name if name in _SHOWN else "")
    kind = chosen or "sha256"
    # Without a name of its own the digest has an older mark.
    mark = _SHOWN[kind] if chosen else "SHA256"
    algorithm = re.sub("(blake2.).*", r"\1", kind).replace("-", "_")
    key = given.value("hmac")
    parts: list[bytes] = []
    for path in given.operands or [None]:
        data = _read(t, path, "{}: {}")
        found = (
            hmac.new(key.encode(), data, algorithm)
            if key is not None
            else hashlib.new(algorithm, data)
        )
        text = found.digest().hex(":") if "c" in given else found.hexdigest()
        before = f"{'HMAC-' if key and path else ''}{mark}({path or 'stdin'})= "
        line = f"{text} *{path or 'stdin'}\n" if "r" in given else f"{before}{text}\n"
        parts.append(found.digest() if "binary" in given else line.encode())
    _write(t, given, b"".join(parts))


def _random(t: Tool, words: list[str]) -> None:
    given = _parse(_RANDOM, "rand", words)
    count = next(iter(given.operands), "")
    if not count.isdigit():
        said = f'rand: Can\'t parse "{count}" as a number\nrand: Use -help for summary.\n'
        raise UsageError(said if count else "")
    data = t.call.random.randbytes(int(count))
    in_hex = data.hex().encode() + b"\n"
    _write(t, given, in_hex if "hex" in given else _lines(data) if "base64" in given else data)


def _lines(data: bytes) -> bytes:
    text = base64.b64encode(data)
    return b"".join(text[at : at + 64] + b"\n" for at in range(0, len(text), 64))


def _encode(t: Tool, name: str, words: list[str]) -> None:
    given = _parse(_ENCODING, name, words)
    data = _read(t, given.value("in"), 'Can\'t open "{}" for reading, {}')
    if "d" not in given:
        _write(t, given, base64.b64encode(data) if "A" in given else _lines(data))
        return
    # Without -A, a text whose first line has no end is none.
    lines = data.split(b"\n")
    with suppress(binascii.Error):
        if "A" in given or len(lines) > 1:
            _write(t, given, base64.b64decode(b"".join(lines)))
