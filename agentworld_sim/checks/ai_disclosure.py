"""An observation does not say that it is one of a model."""

from __future__ import annotations

import re

from agentworld_sim.checks.self_reference import SelfReferenceCheck
from agentworld_sim.regex import lazy_compile

_ROOTS = (
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
    roots = _ROOTS
    reason = "it speaks of itself: {!r}. Give what the real environment returns and nothing about how the answer was made"


pretence = NoPretenceCheck.problem
"""Why a text gives its maker away; see `SelfReferenceCheck.problem`."""
