"""The pocket models: a world and an agent small enough to be trained in minutes on two cores."""
