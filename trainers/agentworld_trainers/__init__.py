"""Training of world models and agents will stand here."""
