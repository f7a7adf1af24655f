"""LangGraph and LangChain tools answered by a simulated world."""
