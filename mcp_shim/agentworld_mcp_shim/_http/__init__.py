"""Serving many clients over streamable HTTP, from one process or several."""
