"""Requests to language models behind OpenAI-compatible servers, and the scripted server for tests."""

from agentworld_sim.llm.settings import ModelSettings

__all__ = ["ModelSettings"]
