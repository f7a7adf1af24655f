"""How close a shell implementation comes to the bash of a plain Debian 12 machine."""
