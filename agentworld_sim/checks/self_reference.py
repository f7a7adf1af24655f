"""An observation does not speak of itself: neither that a model wrote it, nor how good it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, Literal

from agentworld_sim.checks.file_calls import texts_of_files
from agentworld_sim.ports.steps import CheckInput
from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.turns import Observation

END_CHARS = 400_000
"""Of a longer text the beginning and the end are judged: what speaks of itself stands there."""

Known = str | Callable[[], str]
"""What was said in the world before; a function where it costs something to collect."""


class SelfReferenceCheck:
    """A kind of sentence that is refused, unless it was said in the world before.

    Words that stand in the call, in the tool's description, in an earlier turn or in a file that the call names are
    exempt: a file about simulators may be read, and searched for them.
    """

    name: str = ""
    scope: Literal["imagined"] = "imagined"
    pattern: ClassVar[re.Pattern[str]]
    """Matches lower-case text; every match holds at least one root."""
    roots: ClassVar[Sequence[str]]
    """Beginnings of words, in lower case."""
    reason: ClassVar[str]
    """Written for whoever must answer again, with a place for what was said."""

    def judge(self, given: CheckInput) -> str | None:
        return self.problem(all_text(given.observation), lambda: known_words(given))

    @classmethod
    def problem(cls, text: str, known: Known = "") -> str | None:
        """Why a text is refused; `None` if it is not.

        Args:
            text: An observation, or what a command wrote.
            known: What was said in the world before; words that stand there may be used.
        """
        if len(text) > 2 * END_CHARS:
            text = f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"
        lowered = text.lower()
        if not any(root in lowered for root in cls.roots):
            return None

        @cache
        def before() -> str:
            return (known if isinstance(known, str) else known()).lower()

        for found in cls.pattern.finditer(lowered):
            used = [root for root in cls.roots if root in found[0]]
            if not all(root in before() for root in used) and found[0].strip() not in before():
                return cls.reason.format(" ".join(found[0].split())[:80])
        return None


def all_text(observation: Observation) -> str:
    """All that an observation tells, as one text."""
    if observation.structured is None:
        return observation.text
    return f"{observation.text}\n{json.dumps(observation.structured, ensure_ascii=False)}"


def known_words(given: CheckInput) -> str:
    """What stands in the call, in the tool's description, in earlier turns and in the named files."""
    parts = [given.tool.name, given.tool.description, given.call.name]
    parts.append(json.dumps(dict(given.call.arguments), ensure_ascii=False, default=str))
    for turn in given.history:
        parts += [turn.action.text, all_text(turn.observation)]
    parts += texts_of_files(given)
    return "\n".join(parts)


_PRETENCE_ROOTS = (
    *("simulat", "predict", "imagined", "hypothetical"),
    *("language model", "world model", "an ai", "llm"),
    *("actually", "really", "real ", "actual ", "live "),
)
_SHOWN = r"(?:outputs?|responses?|observations?|screen|listing)"
_PRODUCT = r"(?:outputs?|responses?|results?|observations?|screen|listing|page|content|data)"
_MAKER = r"(?:(?:large )?language model|llm|world model|ai(?: (?:language )?model| assistant| system)?)\b"
_SENTENCE = r"(?:^|[.!?:;\"(]\s{0,3})"

_PRETENCE = lazy_compile(
    # It is not real.
    rf"\b(?:this|the (?:above|following|preceding))(?: {_PRODUCT})? (?:is|was|has been)"
    r" (?:only |just |an? |purely |entirely |all ){0,3}(?:simulated|imagined)\b"
    rf"|\b(?:this|the (?:above|following|preceding)) {_SHOWN} (?:is|was|has been)"
    r" (?:only |just |an? |purely |entirely |all ){0,3}(?:predicted|predictions?|simulations?|hypothetical)\b"
    # With an exclamation mark these are apt-get's own words.
    r"|\bthis is (?:only |just |merely )?a (?:simulation|prediction)"
    r"(?:[.;)\n]|$| of (?:the|a|what) (?:output|command|tool|response|terminal|environment|action)\b)"
    r"|\b(?:simulated|imagined) (?:observation|terminal|shell|command|tool)"
    r"(?: (?:outputs?|responses?|results?|calls?|session))?(?=[.,:;)\]\n]|$)"
    r"|\bpredicted (?:observation|terminal|screen|tool (?:output|response|result)|command output)\b"
    r"|\bpredicted_observation\b"
    rf"|[\[(<](?:simulated|imagined)(?: {_PRODUCT}| mode| environment)?[\])>]"
    rf"|^[ \t#/*>-]{{0,20}}(?:note:? )?(?:simulated|imagined)"
    rf"(?: {_PRODUCT}[ *]{{0,4}}(?::|$)|[ *]{{0,4}}:)"
    r"|\"(?:is_?)?simulated\": ?true\b"
    r"|\bfor the purposes? of this (?:simulation|prediction)\b"
    # A model speaks.
    rf"|{_SENTENCE}as an? {_MAKER},? i\b"
    r"|(?:^|[.!?]\s{1,3})as (?:an?|the) (?:\w+ )?simulator,? i\b"
    rf"|\b(?:i am|i'm) (?:just |only )?an? {_MAKER}"
    rf"|\b(?:this|the (?:above|following|preceding))(?: {_PRODUCT})? (?:is|was|has been) (?:\w+ )?"
    rf"(?:generated|produced|written|simulated|predicted|imagined) by (?:an?|the) {_MAKER}"
    r"|\bi (?:cannot|can't|can not|do not|don't|am unable to|am not able to) (?:actually|really) "
    r"(?:execute|run|access|perform|call|browse|have access|see)\b"
    r"|\bi (?:cannot access|do not have access|don't have access)(?: to)? (?:an? |any |the |your )?"
    r"(?:real|actual|live) "
    r"|\bin an? (?:real|actual) (?:environment|system|terminal|shell|execution|run),? "
    r"this (?:output|command|call|action|observation|response)\b"
    r"|\bnot (?:an? |the )?(?:real|actual) (?:observation|execution|tool response|terminal output)\b",
    re.MULTILINE,
)


class NoPretenceCheck(SelfReferenceCheck):
    """The observation does not say that it is simulated, predicted or imagined, nor that a model wrote it.

    Words that stand in the call, in the tool's description, in an earlier turn or in a file that the
    call names are exempt: a file about simulators may be read, and searched for them. Only sentences
    in which an observation speaks of itself count, not every use of the words.
    """

    name = "no-pretence"
    pattern = _PRETENCE
    roots = _PRETENCE_ROOTS
    reason = "it speaks of itself: {!r}. Give what the real environment returns and nothing about how the answer was made"


pretence = NoPretenceCheck.problem
"""Why a text gives its maker away; see `SelfReferenceCheck.problem`."""


_PRAISE_ROOTS = (
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
    roots = _PRAISE_ROOTS
    reason = "it praises itself: {!r}. Give what the real environment returns and no opinion of the answer"


praise = NoPraiseCheck.problem
"""Why a text praises itself; see `SelfReferenceCheck.problem`."""
