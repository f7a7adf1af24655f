"""JSON Schemas of tools: values held against them, tools compared by them, functions described in them."""
