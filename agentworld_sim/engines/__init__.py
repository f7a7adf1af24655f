"""Engines: each answers tool calls, given the state of a world."""
