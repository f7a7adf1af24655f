"""Recipes: what is trained, from what, how, and where it goes."""
