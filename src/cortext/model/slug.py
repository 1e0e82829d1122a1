"""Slugs: the readable part of a folder's name, made from a topic in any script."""

from __future__ import annotations

import unicodedata

LONGEST = 60
_MOST_BYTES = 150
"""The longest slug in bytes. With number and type, it fits into a file name."""


def slugify(topic: str) -> str:
    """Return a topic in lower case, with hyphens between words; "untitled" if nothing is left.

    Words consist of letters, digits and combining marks. All other characters separate words.
    """
    text = unicodedata.normalize("NFKC", topic).lower()
    words = "".join(c if _is_word(c) else " " for c in text).split()
    slug = "-".join(words)[:LONGEST]
    while len(slug.encode("utf-8")) > _MOST_BYTES:
        slug = slug[:-1]
    return slug.strip("-") or "untitled"


def _is_word(character: str) -> bool:
    # Combining marks belong to the letter before them; many scripts are unreadable without them.
    return unicodedata.category(character)[0] in "LNM"
