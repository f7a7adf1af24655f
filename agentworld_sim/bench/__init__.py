"""The bench: how good a world's answers are, measured against environments that are code."""
