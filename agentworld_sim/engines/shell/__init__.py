"""The embedded shell: bashkit, made to behave like a plain Debian machine."""
