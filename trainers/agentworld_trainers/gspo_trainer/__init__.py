"""GSPO on TRL: a trainer that overrides only what TRL lacks."""
