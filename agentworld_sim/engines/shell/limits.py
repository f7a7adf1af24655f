"""What a world may use. Every limit that is hit is said aloud, in a real shell's words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """Limits of one turn in the shell."""

    wall_seconds: float = 30.0
    """Host time after which a running command is killed."""
    commands: int = 10_000_000
    """Commands per turn."""
    loop_iterations: int = 10_000_000
    """Iterations per loop."""
    memory_bytes: int = 256 * 1024 * 1024
    """Memory of the embedded shell for one world."""
    output_bytes: int = 8 * 1024 * 1024
    """Standard output and standard error of one turn, together."""
    imagined_commands: int = 64
    """Commands that may be asked of an imaginer in one turn."""
    file_bytes: int = 16 * 1024 * 1024
    """Size of a file that an imagined command writes."""
    files: int = 20_000
    """Number of files in the world after an imagined command."""
    total_bytes: int = 256 * 1024 * 1024
    """Size of all files together after an imagined command."""
