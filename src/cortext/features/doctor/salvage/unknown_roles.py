"""Messages whose role is none that we know: somebody said them. Nothing here reads or writes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from cortext.model.message import ROLES

_OTHERS = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
"""What other programs call them."""
_NEAR = 0.7
"""How much alike are two words of which one is the other with a letter flipped or added."""


def with_known_role(value: dict[str, Any], key: str = "role") -> dict[str, Any] | None:
    """A message with the role that is meant; None if nothing is wrong with its own. Whoever has a
    role that we cannot guess speaks as the assistant, under the name of that role: nobody takes
    it for what the person said, or for an instruction."""
    role = value.get(key)
    if not isinstance(role, str) or not role or role in ROLES:
        return None
    word = role.strip().casefold()
    near = get_close_matches(word, ROLES, 1, _NEAR)
    meant = _OTHERS.get(word) or (near[0] if near else "")
    if meant:
        return {**value, key: meant}
    return {**value, key: "assistant", "name": value.get("name") or role}
