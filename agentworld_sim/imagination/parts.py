"""What settings put around the one that asks a model: examples, several answers, confidence, a second model."""

from __future__ import annotations

from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import Imaginer


def with_parts(imaginer: Imaginer, settings: ModelSettings, second: Imaginer | None) -> Imaginer:
    """An imaginer with its parts, each imported where it is wanted; `second` is asked where it is not sure."""
    if settings.examples is not None:
        from agentworld_sim.imagination.examples import ExampleImaginer, ExampleLibrary

        library = ExampleLibrary.load(settings.examples)
        imaginer = ExampleImaginer(imaginer, library, settings.example_choice)
    if not settings.rates_answers:
        return imaginer
    from agentworld_sim.imagination.confidence import (
        AgreementImaginer,
        Calibration,
        ConfidenceImaginer,
    )

    if settings.samples > 1:
        imaginer = AgreementImaginer(imaginer, settings.samples)
    path = settings.calibration
    return ConfidenceImaginer(
        imaginer,
        Calibration() if path is None else Calibration.load(path),
        threshold=settings.threshold,
        second=second,
    )
