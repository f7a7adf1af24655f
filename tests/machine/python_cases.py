"""Scripts of the kind agents run, and what a real Python 3.12 on Linux answered: `python -m tests.machine.python_cases PYTHON`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "python_cases.json"

Answer = tuple[str, str, int]
"""Standard output, standard error, exit code."""

_LIBRARY_FRAME = re.compile(r'  File "(?:/usr/lib/python3\.12/|<frozen )[^\n]*\n(?:    [^\n]*\n)*')


def cases() -> Iterator[tuple[str, str]]:
    """Names and shell texts."""
    for block in (HERE / "python_cases.txt").read_text("utf-8").split("#### ")[1:]:
        name, _, text = block.partition("\n")
        yield name, text


def masked(answer: Answer, folder: str, home: str = "") -> Answer:
    """Without what no two machines share: places, object addresses, times, and source lines of the library,
    which the machine has as compiled code alone."""
    out, err, code = answer
    texts: list[str] = []
    for text in (out, err):
        if home:
            text = text.replace(f"{home}/lib/python3.12", "/usr/lib/python3.12")
            text = text.replace(f"{home}/bin/python3", "/usr/bin/python3")
        text = re.sub(r" at 0x[0-9a-f]+", " at 0x…", text.replace(folder, "/srv"))
        text = re.sub(r"in \d+\.\d+s|Thread-\d+ ", "…", text)
        text = re.sub(r"\b(real|user|sys)(\s+)[\d.ms]+", r"\1\2…", text)
        texts.append(_LIBRARY_FRAME.sub("", text))
    return texts[0], texts[1], code


def main(python: str) -> None:
    home = str(Path(python).resolve().parent.parent)
    found: dict[str, Answer] = {}
    for name, text in cases():
        with tempfile.TemporaryDirectory() as folder:
            env = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
            env["PWD"] = folder
            done = subprocess.run(
                ["bash", "-c", text],
                cwd=folder,
                env=env,
                capture_output=True,
                check=False,
                timeout=60,
            )
            out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
            code = done.returncode if done.returncode >= 0 else 128 - done.returncode
            found[name] = masked((out, err, code), os.path.realpath(folder), home)
    RECORDED.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
