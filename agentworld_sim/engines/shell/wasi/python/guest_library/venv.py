"""Virtual environments. The interpreter's build comes without the standard library's module of this name."""

import argparse
import glob
import os
import shutil
import sys

SHARED = "/usr/lib/python3/dist-packages"

NO_PIP = """\
The virtual environment was not created successfully because ensurepip is not
available. Leave it without pip: --without-pip

Failing command: {}
"""

ACTIVATE = """\
# This file must be used with "source bin/activate" *from bash*

deactivate () {
    PATH="${_OLD_VIRTUAL_PATH:-$PATH}"
    PS1="${_OLD_VIRTUAL_PS1:-$PS1}"
    unset _OLD_VIRTUAL_PATH _OLD_VIRTUAL_PS1 VIRTUAL_ENV VIRTUAL_ENV_PROMPT
    [ "${1:-}" = nondestructive ] || unset -f deactivate
}

deactivate nondestructive
export VIRTUAL_ENV="__ENV_DIR__" VIRTUAL_ENV_PROMPT="(__PROMPT__) "
_OLD_VIRTUAL_PATH="$PATH"
_OLD_VIRTUAL_PS1="${PS1:-}"
export PATH="$VIRTUAL_ENV/bin:$PATH"
PS1="(__PROMPT__) ${PS1:-}"
"""


def create(place, given):
    python = f"{place}/bin/python3"
    if os.path.isfile(place):
        raise ValueError(f"Unable to create directory {place!r}")
    if given.clear and os.path.isdir(place):
        shutil.rmtree(place)
    for folder in ("bin", "include/python3.12", "lib/python3.12/site-packages"):
        os.makedirs(f"{place}/{folder}", exist_ok=True)
    links = {"lib64": "lib", "bin/python3": "/usr/bin/python3"}
    links |= {"bin/python": "python3", "bin/python3.12": "python3"}
    text = ACTIVATE.replace("__PROMPT__", given.prompt or os.path.basename(place))
    files = {
        "bin/activate": text.replace("__ENV_DIR__", place),
        "pyvenv.cfg": f"home = /usr/bin\ninclude-system-site-packages = {str(given.system_site_packages).lower()}\n"
        f"version = 3.12.0\nexecutable = /usr/bin/python3.12\ncommand = /usr/bin/python3 -m venv {place}\n",
    }
    if not given.without_pip:
        shared = glob.glob(f"{SHARED}/pip") + glob.glob(f"{SHARED}/pip-*")
        if not shared:
            sys.stdout.write(NO_PIP.format(python))
            sys.exit(1)
        # Its thousand files can be shared: nobody changes them.
        links |= {one.replace(SHARED, "lib/python3.12/site-packages"): one for one in shared}
        for name in ("pip", "pip3", "pip3.12"):
            with open(f"/usr/local/bin/{name}") as file:
                files[f"bin/{name}"] = f"#!{python}\n" + file.read().partition("\n")[2]
    for name, target in links.items():
        if not os.path.lexists(f"{place}/{name}"):
            os.symlink(target, f"{place}/{name}")
    for name, text in files.items():
        with open(f"{place}/{name}", "w") as file:
            file.write(text)
        if name.startswith("bin/pip"):
            os.chmod(f"{place}/{name}", 0o755)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="venv",
        description="Creates virtual Python environments in one or more target directories.",
    )
    parser.add_argument("dirs", metavar="ENV_DIR", nargs="+")
    for flag in ("system-site-packages", "symlinks", "copies", "clear", "upgrade", "without-pip"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--prompt")
    given = parser.parse_args()
    try:
        for one in given.dirs:
            create(os.path.abspath(one), given)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(1)
