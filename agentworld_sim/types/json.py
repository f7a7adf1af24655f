"""The one JSON text of a value, for refs, keys and comparisons."""

from __future__ import annotations

import json

# `json.dumps` would make an encoder for every value.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8 as is.

    Lone surrogates (bytes that are not UTF-8) are escaped, so that the text can be encoded.
    """
    text = _canonical(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text
