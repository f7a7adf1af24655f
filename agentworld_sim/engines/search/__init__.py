"""A search engine and the pages behind it, computed."""
