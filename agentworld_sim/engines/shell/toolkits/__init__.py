"""The well-known tools, one module per family, in each tool's own words."""
