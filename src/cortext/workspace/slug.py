"""Slugs: the readable part of a conversation's folder name, such as `fix-login-bug`."""

from __future__ import annotations

import unicodedata

LONGEST = 60
_MOST_BYTES = 150
"""The maximum bytes of a slug, so that a number and a type also fit into the folder's name."""


def slugify(topic: str) -> str:
    """Return the words of a topic in lower case, joined by hyphens.

    Words consist of letters and digits of any script. All other characters separate words. The
    result is "untitled" if the topic has no words. A long topic is cut.
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
