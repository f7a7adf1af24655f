"""The own test suites of pure Python projects, in a world and outside, test by test."""
