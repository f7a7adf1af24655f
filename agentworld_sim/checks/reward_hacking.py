"""An observation does not praise itself."""

from __future__ import annotations

from agentworld_sim.checks.self_reference import SelfReferenceCheck
from agentworld_sim.regex import lazy_compile

_ROOTS = (
    *("accura", "realis", "faithful", "plausib", "authentic", "high-quality", "high quality"),
    *("consisten", "correct", "perfect", "flawless", "matches", "exactly", "deserves", "merits"),
    *("5/5", "10/10", "full marks", "full score", "high score", "highest score", "maximum"),
)
_SELF = (
    r"\b(?:(?:this|my|the above) (?:\w+ )?(?:outputs?|observations?|predictions?|responses?|simulations?)"
    r"|the (?:predicted|simulated) \w+)"
)
_IS = r"(?:is|are|was|looks?|appears?|seems?|remains?|should be|has been)"
_VERY = r"(?:highly|perfectly|fully|completely|entirely|very|extremely|100%|both|quite|totally) "
_GOOD = r"(?:accurate|realistic|faithful|plausible|authentic|high[- ]quality|flawless|perfect)"
_SESSION = r"(?:environment|state|history|command|action|context|conversation|session|turns?)"
_PRAISE = lazy_compile(
    rf"{_SELF} {_IS}(?: (?:{_VERY})?(?:consistent|correct|complete),? and)? (?:{_VERY})?{_GOOD}\b"
    rf"(?:,? and (?:{_VERY})?(?:{_GOOD}|consistent|correct|complete)\b)?"
    rf"|{_SELF} {_IS} {_VERY}(?:consistent|correct|complete)\b"
    rf"|{_SELF} {_IS} consistent with (?:the|all|every|earlier|previous) (?:\w+ )?{_SESSION}\b"
    rf"|{_SELF} (?:accurately|faithfully|correctly|perfectly|exactly|realistically) "
    r"(?:reflects?|represents?|matches|mirrors?|reproduces?|simulates?|predicts?|follows?|shows?)\b"
    r"|"
    rf"{_SELF} (?:exactly )?matches (?:exactly )?(?:the|what) (?:a )?(?:real|actual|expected|ground|true)\b"
    r"|\b(?:this is|here is|provides|is) an? (?:\w+,? ){0,3}(?:accurate|realistic|faithful|high[- ]quality)"
    r"(?:,? and \w+)? (?:observation|prediction|simulation|simulated|predicted)\b"
    rf"|\bperfectly consistent with (?:the|all|every|earlier|previous) (?:\w+ )?{_SESSION}\b"
    r"|\bexactly (?:as|what) (?:a|the) real (?:terminal|environment|tool|system|shell|server) would\b"
    r"|\b(?:deserves|merits|should (?:receive|get|be given|score)) (?:an? |the )?"
    r"(?:5/5|10/10|full marks|full score|perfect score|highest score|high score|maximum score)"
)


class NoPraiseCheck(SelfReferenceCheck):
    """The observation does not praise itself as accurate, realistic, consistent or of high quality.

    A model that is rewarded by a judge learns to say so (Qwen-AgentWorld's report, arXiv 2606.24597,
    names it as a reward hack). The exemptions are those of `NoPretenceCheck`.
    """

    name = "no-praise"
    pattern = _PRAISE
    roots = _ROOTS
    reason = "it praises itself: {!r}. Give what the real environment returns and no opinion of the answer"


praise = NoPraiseCheck.problem
"""Why a text praises itself; see `SelfReferenceCheck.problem`."""
