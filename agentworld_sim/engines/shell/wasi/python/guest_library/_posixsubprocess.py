"""Imported by `subprocess`, which starts processes in another way here."""

fork_exec = None
