"""Rules for secrets that are recognized by the text around them: URLs, headers, `NAME=VALUE`.

Every pattern runs in linear time. It starts with a literal, and its repetitions are bounded or
possessive, so that the search never backtracks far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from cortext.model.secrets.key_formats import Found

_URL = re.compile(
    r"""://(?<=[A-Za-z0-9]://)([^\s/:@"'`<>]{0,128}+):([^\s/"'`<>]{1,256})@[\w\[.$-]"""
)
_PAIR = re.compile(r"""(?i:;\s?(?:password|pwd)\s?=\s?)([^;"'\s]{1,128})""")
_BEARER = re.compile(r"""earer(?<=[Bb]earer)[ \t]{1,4}([A-Za-z0-9._~+/-]{20,4000}+={0,2})""")
_BASIC = re.compile(r"asic ([A-Za-z0-9+/]{8,400}+={0,2})")
_JWT = re.compile(r"eyJ(?<![\w-]eyJ)([\w-]{8,2000}+)\.[\w-]{8,20000}+\.[\w-]{16,2000}+", re.ASCII)
_DISCORD = re.compile(r"[MNO](?<![\w-].)[\w-]{23,27}+\.[\w-]{6}\.[\w-]{27,40}+(?![\w-])", re.ASCII)
_ASSIGNED = re.compile(
    r"""[=:](?:>|(?<=:)=)?\s{0,4}(?:"([^"\s]{8,2048}+)"|'([^'\s]{8,2048}+)'|`([^`\s]{8,2048}+)`"""
    r"""|([^\s"'`,;&=:(){}\[\]<>|\\]{8,2048}+={0,2})(?=[\s"'`,;&)}\]<|\\]|\Z))"""
)
_NAME = re.compile(
    r"""(?:\A|(?<![\w.$-]))([\w.$-]{1,90}+)["'\]]{0,2}(?:\s{0,2}:\s{0,2}(?:str|string|String|&str))?\s{0,4}\Z""",
    re.ASCII,
)
_CREDENTIAL = (
    r"passw(?:or)?d|passphrase|pwd|secret|token|credential"
    r"|(?:api|access|private|auth|signing|encryption|master|account)[_.-]?key"
)
_SECRET_NAME = re.compile(f"(?i){_CREDENTIAL}")
_ENDS_IN_CREDENTIAL = re.compile(rf"(?i)(?:{_CREDENTIAL}|secret[_.-]?key)s?\Z")
_NAMING = ("key", "token", "secret", "pass", "pwd", "credential")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A name with one of these words describes a secret (`token_count`) but does not hold one.
_ABOUT = re.compile(
    r"(?i)algorithm|arn|budget|class|continuation|count|cursor|digest|expires|expiry|field|file"
    r"|hash|header|ids?|index|label|length|limit|max|min|name|next|offset|page|path|pattern|prefix"
    r"|public|ref|regex|sha|size|sync|type|uri|url|usage|version"
)
# Placeholders for a password in a URL or `;Password=…;`, where any other word could be a password.
_TEMPLATE = re.compile(
    r"(?i)\A(?:(?:my|the|db|some)?[_-]?(?:passw(?:or)?d|pass|pwd|pw|secret|token|user(?:name)?)|p"
    r"|test|dummy|changeme|(.)\1*)\Z|example|placeholder|your|redacted|removed|xxx|\*\*|\.\.\.|…"
    r"|[<>{}()\[\]]|\A\$[a-z_]|\A%[s(]"
)
_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|change.?me|dummy|sample|your|xxx|\*\*|\.\.\.|…|redacted|removed"
    r"|masked|hidden|fake|mock|test|secret|passw|token|todo|undefined|environ|getenv|env\b|import"
    r"|[<>{}()\[\]]|\A[$%@#]|\A[~.]{0,2}/[\w.-]+/|://|\Asha\d{1,3}[-:]|\Aarn:|\Assh-"
)
# A UUID, or a hexadecimal text that is too short for a key.
_HASH = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{8,31}")
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|/)[A-Za-z_]\w*)+\Z", re.ASCII)
_URL_SAFE_TO_STANDARD = str.maketrans("-_", "+/")
_NAME_PART = re.compile("[a-z]{5}|[A-Z]{5}")
_DIGIT = re.compile("[0-9]")
_LETTER = re.compile("[A-Za-z]")
_MASK = re.compile(r"\[(?:secret removed: |redacted )[a-z0-9 -]{0,60}\]?")


def names_a_secret(name: str) -> bool:
    """Return whether a variable with this name holds a secret.

    The result is True for `api_key`, but False for `token_count`.
    """
    if not _SECRET_NAME.search(name):
        return False
    return not any(_ABOUT.fullmatch(word) for word in _WORDS.findall(name))


def _connections(text: str) -> Iterator[Found]:
    """Yield the kind and position of each password in a URL or a connection string.

    Examples are `scheme://user:password@host` and `;Password=…;`. Placeholders such as `changeme`
    are ignored.
    """
    for match in _URL.finditer(text) if "://" in text else ():
        if match[1].lower() != match[2].lower() and not _TEMPLATE.search(match[2]):
            yield "connection-password", *match.span(2)
    for match in _PAIR.finditer(text) if ";" in text else ():
        if not _TEMPLATE.search(match[1]):
            yield "connection-password", *match.span(1)


def _headers(text: str) -> Iterator[Found]:
    """Yield the kind and position of the secrets in `Bearer …` and `Authorization: Basic …`."""
    for match in _BEARER.finditer(text):
        if _is_mixed(match[1]) and not _is_placeholder(match[1]):
            yield "bearer-token", *match.span(1)
    for match in _BASIC.finditer(text):
        before = text[max(0, match.start() - 25) : match.start()].lower()
        if "authorization" in before and b":" in _decoded(match[1]):
            yield "basic-auth", *match.span(1)


def _decodable_tokens(text: str) -> Iterator[Found]:
    """Yield the kind and position of each token that can be recognized by its decoded content.

    Examples are JSON Web Tokens (JWT) and Discord tokens.
    """
    for match in _JWT.finditer(text) if "eyJ" in text else ():
        if b'"alg"' in _decoded("eyJ" + match[1]):
            yield "jwt", *match.span()
    for match in _DISCORD.finditer(text):
        if _decoded(match[0].partition(".")[0]).isdigit():
            yield "discord-token", *match.span()


def _assignments(text: str) -> Iterator[Found]:
    """Yield the kind and position of each random-looking value after a name such as `password`.

    Examples are the values of `password = "…"`, `API_KEY=…` and `"token": "…"`.
    """
    for match in _ASSIGNED.finditer(text):
        start, group = match.start(), match.lastindex or 0
        before = text[max(0, start - 90) : start]
        # A cheap check first, which rejects almost every match.
        if not _DIGIT.search(match[group]) or not any(map(before.lower().__contains__, _NAMING)):
            continue
        name = _NAME.search(before)
        if name is None or not names_a_secret(name[1]) or _in_mask(text, start):
            continue
        is_credential = bool(_ENDS_IN_CREDENTIAL.search(name[1]))
        if _is_strong(match[group], quoted=group < 4, is_credential=is_credential):
            yield _kind(name[1]), *match.span(group)


CONTEXTS: tuple[Callable[[str], Iterator[Found]], ...] = (
    _connections,
    _headers,
    _decodable_tokens,
    _assignments,
)


def _kind(name: str) -> str:
    name = name.lower()
    if "aws" in name or "secretaccess" in name or "secret_access" in name:
        return "aws-secret-key"
    return "password" if "pass" in name or "pwd" in name else "assigned-secret"


def _is_placeholder(value: str) -> bool:
    """Return whether a value is not a real secret.

    Examples are a placeholder, code, a path, or one repeated character.
    """
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) == 1


def _in_mask(text: str, index: int) -> bool:
    """Return whether a mask such as `[secret removed: token]` ends just before `index` in a text.

    A mask is the text that replaces a secret. Its last word, such as "token", must not be taken for
    the name of a value that follows the mask.
    """
    around = text[max(0, index - 80) : index]
    return any(match.end() >= len(around) - 3 for match in _MASK.finditer(around))


def _is_strong(value: str, *, quoted: bool, is_credential: bool) -> bool:
    if not _is_mixed(value) or _is_placeholder(value) or _HASH.fullmatch(value):
        return False
    if not quoted and (_CODE.match(value) or len(_DIGIT.findall(value)) < 2):
        return False
    groups = [_character_class(character) for character in value[:256]]
    switches = sum(a != b for a, b in pairwise(groups)) / len(groups)
    if len(value) >= (16 if quoted else 20):
        return len(set(value)) >= 8 and switches >= 0.2
    looks_random = len(set(value)) >= 8 and switches >= 0.4 and not _NAME_PART.search(value)
    if is_credential and looks_random and len(value) >= 12 and {"a", "A", "1"} <= set(groups):
        return True
    return len(set(value)) >= 7 and len(set(groups)) >= 3 and (quoted or len(set(groups)) == 4)


def _is_mixed(value: str) -> bool:
    """Return whether a value has both letters and digits, as almost every random value does."""
    return bool(_DIGIT.search(value)) and len(_LETTER.findall(value[:256])) >= 2


def _character_class(character: str) -> str:
    if character.isdigit():
        return "1"
    if character.isalpha():
        return "a" if character.islower() else "A"
    return "-"


def _decoded(text: str) -> bytes:
    """Decode base64 text, in the standard or the URL-safe alphabet.

    The result is b"" if the text is not valid base64.
    """
    from base64 import b64decode

    try:
        return b64decode(text.translate(_URL_SAFE_TO_STANDARD) + "=" * (-len(text) % 4))
    except ValueError:
        return b""
