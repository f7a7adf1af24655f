"""Where packages are installed: as on Debian, below /usr/local."""


def enter(sysconfig):
    base = "{installed_base}/local/lib/python{py_version_short}/site-packages"
    posix = sysconfig._INSTALL_SCHEMES["posix_prefix"]
    sysconfig._INSTALL_SCHEMES["posix_local"] = posix | {
        "purelib": base, "platlib": base, "scripts": "{base}/local/bin", "data": "{base}/local",
    }  # fmt: skip
    preferred = sysconfig._get_preferred_schemes

    def _get_preferred_schemes():
        import sys

        local = {"prefix": "posix_local"} if sys.prefix == sys.base_prefix else {}
        return preferred() | local

    sysconfig._get_preferred_schemes = _get_preferred_schemes
