"""Tests of the shell engine."""
