"""git on the files of a world: repositories in git's own format, their diffs and merges made by libgit2."""
