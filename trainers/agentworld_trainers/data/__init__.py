"""Sources, filters and rows of training data."""

from agentworld_trainers.data._rows import Demonstration, Document, read_rows, write_rows
from agentworld_trainers.data._samples import documents_of, samples_of
from agentworld_trainers.data._source import SourceTrajectory, imagined_tools

__all__ = [
    "Demonstration",
    "Document",
    "SourceTrajectory",
    "documents_of",
    "imagined_tools",
    "read_rows",
    "samples_of",
    "write_rows",
]
