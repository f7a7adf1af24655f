"""Where packages are installed: as on Debian, below /usr/local."""

import sys


def enter(sysconfig):
    if sys.prefix == sys.base_prefix:
        folder = "{installed_base}/local/lib/python{py_version_short}/site-packages"
        sysconfig._INSTALL_SCHEMES["posix_prefix"].update(
            purelib=folder, platlib=folder, scripts="{base}/local/bin", data="{base}/local"
        )
