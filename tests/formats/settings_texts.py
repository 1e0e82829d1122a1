"""Random settings files in JSON."""

import json
from typing import Any

from hypothesis import strategies as st

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# White space and comments as people leave them.
GAPS = st.sampled_from(
    ["", "", " ", "\n", "\n  ", "\r\n\t", ' /* a, "b": [ */ ', " // c } ,\n", "\n\n    "]
)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may have written it: comments, odd white space, trailing commas."""

    def gap() -> str:
        return draw(GAPS)

    def end(parts: list[str]) -> str:
        return f",{gap()}" if parts and draw(st.booleans()) else gap()

    if isinstance(value, dict):
        parts = [
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{draw(written(item))}{gap()}"
            for key, item in value.items()
        ]
        return "{" + ",".join(parts) + end(parts) + "}"
    if isinstance(value, list):
        parts = [f"{gap()}{draw(written(item))}{gap()}" for item in value]
        return "[" + ",".join(parts) + end(parts) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def settings(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A person's settings, some with hooks of their own, as value and as text."""
    value = draw(st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
    value.pop("hooks", None)
    if draw(st.booleans()):
        events = st.dictionaries(st.sampled_from(["Stop", "Other"]), st.lists(VALUES, max_size=3))
        value["hooks"] = draw(events)
    text = draw(GAPS) + draw(written(value)) + draw(GAPS)
    return value, text
