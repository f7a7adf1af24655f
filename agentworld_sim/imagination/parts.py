"""What settings put around the one that asks a model: examples, several answers, confidence, a second model."""

from __future__ import annotations

from dataclasses import replace

from agentworld_sim.imagination.world_model import cached_model
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import Imaginer, PromptContext


def with_parts(
    imaginer: Imaginer, settings: ModelSettings, prompt_context: PromptContext | None
) -> Imaginer:
    """An imaginer with its parts. Each is imported where it is wanted."""
    if settings.examples is not None:
        from agentworld_sim.imagination.examples import ExampleImaginer, ExampleLibrary

        library = ExampleLibrary.load(settings.examples)
        imaginer = ExampleImaginer(imaginer, library, settings.example_choice)
    if settings.samples == 1 and settings.calibration is None and not settings.threshold:
        return imaginer
    from agentworld_sim.imagination.confidence import (
        AgreementImaginer,
        Calibration,
        ConfidenceImaginer,
    )

    if settings.samples > 1:
        imaginer = AgreementImaginer(imaginer, settings.samples)
    path = settings.calibration
    second = second_settings(settings)
    return ConfidenceImaginer(
        imaginer,
        Calibration() if path is None else Calibration.load(path),
        threshold=settings.threshold,
        second=second and cached_model(second, second.api_key).imaginer(prompt_context),
    )


def second_settings(settings: ModelSettings) -> ModelSettings | None:
    """How the second model is asked: as the first, but that it thinks and is asked once; `None` for none.

    Without log-probabilities, confidence and threshold of its own: what it says is taken.
    """
    if not settings.second_model:
        return None
    return replace(
        settings,
        url=settings.second_url or settings.url,
        model=settings.second_model,
        thinking=True,
        samples=1,
        calibration=None,
        threshold=0.0,
        second_url="",
        second_model="",
    )
