"""The world's content as values: files, refs, histories and the stores that keep them."""
