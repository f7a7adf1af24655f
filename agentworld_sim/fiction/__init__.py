"""Fictional worlds: relational databases of invented facts that agree with each other, questions about them with
their proofs, and the pages of an internet that says the same."""
