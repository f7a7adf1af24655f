"""Rows, sources, filters and pools of training data."""
