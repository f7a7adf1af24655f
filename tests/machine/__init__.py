"""Programs of the machine, each against the real one."""
