"""Programs compiled to WebAssembly that run on the files of a simulated machine (needs the extra `machine`)."""
