"""A topic in any script as the readable part of a folder's name."""

from __future__ import annotations

import unicodedata

LONGEST = 60
_MOST_BYTES = 150
"""So that number, type and slug together stay below what a file system allows for a name."""


def slugify(topic: str) -> str:
    """Letters and digits in lower case, anything else a hyphen; `untitled` when nothing is left."""
    text = unicodedata.normalize("NFKC", topic).lower()
    words = "".join(c if _is_word(c) else " " for c in text).split()
    slug = "-".join(words)[:LONGEST]
    while len(slug.encode("utf-8")) > _MOST_BYTES:
        slug = slug[:-1]
    return slug.strip("-") or "untitled"


def _is_word(character: str) -> bool:
    # Marks belong to the letter before them: without them many scripts cannot be read.
    return unicodedata.category(character)[0] in "LNM"
