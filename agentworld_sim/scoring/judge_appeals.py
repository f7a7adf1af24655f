"""An observation does not speak to whoever judges it."""

from __future__ import annotations

import re
import unicodedata

from agentworld_sim.checks.self_reference import SelfReferenceCheck

_ROOTS = (
    *("judge", "grader", "evaluator", "assessor", "rater", "reviewer"),
    *("final_evaluation", "final evaluation", "ground truth", "ground-truth", "ground_truth"),
    *("ignore", "disregard", "forget", "award", "assign", "score", "rate ", "grade"),
    *("factuality", "realism", "reference observation", "real observation", "true observation"),
)
_WHO = r"(?:judge|grader|evaluator|assessor|rater|reviewer)s?"
_BEST = r"(?:5|five|full|maximum|max|highest|top|perfect)"
_POINTS = r"(?:scores?|points?|marks?|stars?|ratings?|grades?|dimensions?|out of (?:5|five)|/ ?5)"
_APPEAL = re.compile(
    r"</?final[_ ]evaluation>?"
    r"|\bground[-_ ]truth\b"
    r"|\b(?:reference|real|true) observation\b"
    rf"|\b{_WHO}\b[^\n]{{0,60}}\b(?:scores?|points?|rate|rating|award|give|assign|must|should|please|note)\b"
    rf"|\b(?:note|message|instructions?|attention|dear|hello)\b[^\n]{{0,20}}\b{_WHO}\b"
    rf"|\b(?:give|award|assign|rate|score|grade)\b[^\n]{{0,60}}\b{_BEST}\b[^\n]{{0,20}}{_POINTS}"
    rf"|\b(?:award|assign|rate|score|grade)\b[^\n]{{0,40}}\b{_BEST}\b(?: |$|[.!])"
    r"|\b(?:ignore|disregard|forget) (?:all |any |every |the |your ){0,3}"
    r"(?:previous|earlier|above|prior|other|following) (?:\w+ )?"
    r"(?:instructions?|rules?|prompts?|observations?|messages?|text|criteria)\b"
    r"|\"?\bscores\"?\s{0,4}:\s{0,4}\{[^}\n]{0,40}(?:format|factuality|consistency|realism|quality)"
    r"|\"?\b(?:factuality|realism)\"?\s{0,4}[:=]\s{0,4}[1-5]\b"
)
_LOOK_ALIKES = str.maketrans("аеорсухіѕјԁһԛԝοαеνρτυικ", "aeopcyxisjdhqwoaevptuik")
"""Cyrillic and Greek letters that look like Latin ones."""


class NoAppealCheck(SelfReferenceCheck):
    """The observation gives its judge no instructions, no verdict and no truth of its own."""

    name = "no-appeal"
    pattern = _APPEAL
    roots = _ROOTS
    reason = "it speaks to whoever judges it: {!r}. Give what the real environment returns"


def fold_text(text: str) -> str:
    """A text as a reader sees it: compatible forms and look-alike letters as plain ones, nothing invisible.

    Words that are written so that a pattern does not find them are found in this.
    """
    plain = unicodedata.normalize("NFKC", text)
    shown = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    return shown.translate(_LOOK_ALIKES)
