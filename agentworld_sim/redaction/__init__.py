"""Secrets kept out of records, prompts and texts."""
