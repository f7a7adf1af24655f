"""The operations of well-known tools on the shell, one module per family, in each tool's own words."""
