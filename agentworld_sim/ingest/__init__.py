"""Folders of this machine, read into the files of a world."""
