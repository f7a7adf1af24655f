"""Benchmarks: each figure beside its alternative, measured in the same run."""
