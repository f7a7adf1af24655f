"""LangChain's tools for a browser, without a browser."""
