"""Rollouts: many episodes at a time, token in and token out."""
