"""Experiments whose raw numbers are committed with what they show."""
