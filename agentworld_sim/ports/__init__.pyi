from .questions import (
    ImaginedValue as ImaginedValue,
    Imaginer as Imaginer,
    Part as Part,
    Prompt as Prompt,
    PromptContext as PromptContext,
    Question as Question,
    QuestionKey as QuestionKey,
    WorldImaginer as WorldImaginer,
    whole_answer as whole_answer,
)
from .steps import (
    Answer as Answer,
    BindsTogether as BindsTogether,
    Check as Check,
    CheckInput as CheckInput,
    Control as Control,
    Engine as Engine,
    EngineSession as EngineSession,
    Judge as Judge,
    MovableSession as MovableSession,
    Next as Next,
    OnDelta as OnDelta,
    PromptExample as PromptExample,
    StepContext as StepContext,
    accept_unchecked as accept_unchecked,
)
from .stores import (
    NewBlobs as NewBlobs,
    Origin as Origin,
    WorldRecord as WorldRecord,
    WorldStore as WorldStore,
)
