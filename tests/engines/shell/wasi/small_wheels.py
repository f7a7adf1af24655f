"""Wheels made for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: tuple[str, ...] = (),
    python: str = ">=3.8",
    tag: str = "py3-none-any",
    files: Mapping[str, str] | None = None,
    scripts: str = "",
) -> Path:
    """A wheel with one module that knows its version."""
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n"
    )
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    contents = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
        **({f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}\n"} if scripts else {}),
        **(files or {}),
    }
    with ZipFile(path, "w") as archive:
        for place, text in contents.items():
            archive.writestr(place, text)
    return path
