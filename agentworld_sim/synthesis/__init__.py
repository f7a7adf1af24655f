"""What is made out of worlds in numbers: sets of fictional worlds with their questions, ready for training."""
