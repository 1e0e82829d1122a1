"""What secrets look like, and what around a word makes it one.

A rule is a kind, words of which one must be in a text for the rule to be tried, and a
pattern: its group `secret`, or else all of it, is the secret. A key is one long word, a block
has lines of them. To stay linear a pattern begins with a literal, bounds or never gives back
what it repeats, and nothing after a repeat can fail late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

# Of keys, and of the lines of a block.
SHORTEST = 20


class Rule(NamedTuple):
    """One kind of secret that is known by its looks."""

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(kind: str, words: str, pattern: str) -> Rule:
    return Rule(kind, tuple(words.split()), re.compile(pattern))


# Between the lines of a key: line ends, also written as an escape or as the end of a string in
# code, indentation, quotation marks, and the line numbers with which tools show files.
_GAP = r"(?:\\{1,8}[nr]|[\s>\"'+,|]|\d{1,6}+[\t→:|])*+"
_NOTE = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\]{0,200}+"
_LINE = r"[A-Za-z0-9+/=]{20,}+"
_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_LAST = rf"(?:{_GAP}[A-Za-z0-9+/=]{{1,19}}+(?={_GAP}(?:{_END}|=|\Z)))"
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_GAP}{_NOTE})*+(?:{_GAP}{_LINE})++{_LAST}{{0,2}}+(?:{_GAP}{_END})?+"
)

BLOCKS: tuple[Rule, ...] = (
    _rule("private-key", "PRIVATE", _PEM),
    _rule(
        "private-key", "Private-Lines:", rf"Private-Lines: \d{{1,3}}(?:{_GAP}{_LINE})++{_LAST}?+"
    ),
)
KEYS: tuple[Rule, ...] = (
    _rule("private-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{24,250}"),
    _rule("openrouter-key", "sk-or-", r"sk-or-v1-[0-9a-f]{64}"),
    _rule(
        "openai-key",
        "sk-",
        r"sk-(?<![A-Za-z0-9_]sk-)(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"
        r"|[A-Za-z0-9]{32,64}(?![A-Za-z0-9_-]))",
    ),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{48,60}"),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    _rule("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _rule("google-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{30,400}"),
    _rule("google-client-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _rule(
        "aws-access-key", "AKIA ASIA", r"A(?:KI|SI)A(?<![A-Z0-9]....)[A-Z2-7]{16}(?![A-Za-z0-9])"
    ),
    _rule(
        "aws-secret-key",
        "AKIA ASIA",
        r"A(?:KI|SI)A[A-Z2-7]{16}[\s,;:|]{1,5}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _rule("github-token", "ghp_ gho_ ghs_ ghu_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,255}"),
    _rule("gitlab-token", "glpat- gldt- glrt-", r"gl(?:pat|dt|rt)-[A-Za-z0-9_.-]{20,200}"),
    _rule("slack-token", "xox xapp-", r"x(?:ox[a-z]|app)-[A-Za-z0-9-]{20,250}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{30,120})",
    ),
    _rule("stripe-key", "k_live_", r"[sr]k_live_[A-Za-z0-9]{16,250}"),
    _rule("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{32,100}"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    _rule("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _rule("huggingface-token", "hf_", r"hf_(?<![A-Za-z0-9_]hf_)[A-Za-z0-9]{30,44}(?![A-Za-z0-9_])"),
    _rule("sendgrid-key", "SG.", r"SG\.(?<![A-Za-z0-9]SG\.)[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _rule("twilio-key", "SK", r"SK(?<![A-Za-z0-9]SK)[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule(
        "telegram-token",
        ":AA",
        r":AA(?<=[0-9]{8}:AA)(?P<secret>[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"/api/webhooks/[0-9]{15,20}/(?P<secret>[A-Za-z0-9_-]{60,100})",
    ),
    _rule(
        "azure-key",
        "AccountKey= SharedAccessKey=",
        r"A(?:ccount|ccess)Key=(?P<secret>[A-Za-z0-9+/]{43,86}={1,2})",
    ),
    _rule("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _rule("docker-token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{27}"),
    _rule("vault-token", "hvs.", r"hvs\.[A-Za-z0-9_-]{24,200}"),
)


def is_example(text: str) -> bool:
    """Obviously no key: it says so, or it is a few characters again and again."""
    return "EXAMPLE" in text.upper() or len(set(text[-16:])) <= 3


Found = tuple[str, int, int]

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
    r"""([\w.$-]{1,64})["'\]]{0,2}(?:\s{0,2}:\s{0,2}(?:str|string|String|&str))?\s{0,4}\Z""",
    re.ASCII,
)
_SECRET_NAME = re.compile(
    r"(?i)passw(?:or)?d|passphrase|pwd|secret|token|credential"
    r"|(?:api|access|private|auth|signing|encryption|master|account)[_.-]?key"
)
_NAMING = ("key", "token", "secret", "pass", "pwd", "credential")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A name with one of these speaks about a secret, or of a token that is none.
_ABOUT = re.compile(
    r"(?i)algorithm|arn|budget|class|continuation|count|cursor|digest|expires|expiry|field|file"
    r"|hash|header|ids?|index|label|length|limit|max|min|name|next|offset|page|path|pattern|prefix"
    r"|public|ref|regex|sha|size|sync|type|uri|url|usage|version"
)
# In the place of a password, where any word may be one.
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
# A UUID, or too short for a key in hexadecimal.
_HASH = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{8,31}")
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|/)[A-Za-z_]\w*)+\Z", re.ASCII)
_STANDARD = str.maketrans("-_", "+/")
_DIGIT = re.compile("[0-9]")
_LETTER = re.compile("[A-Za-z]")
_MASK = "[secret removed: "


def names_a_secret(name: str) -> bool:
    """Whether a value with this name would be one."""
    if not _SECRET_NAME.search(name):
        return False
    return not any(_ABOUT.fullmatch(word) for word in _WORDS.findall(name))


def long_words(text: str) -> str:
    """The words of a text that could be a key: few, so that looking for one costs little."""
    return "\n".join([word for word in text.split() if len(word) >= SHORTEST])


def _connections(text: str, likely: str) -> Iterator[Found]:
    """The password in `scheme://user:password@host`, unless it is a placeholder or a default."""
    for match in _URL.finditer(text) if "://" in text else ():
        if match[1].lower() != match[2].lower() and not _TEMPLATE.search(match[2]):
            yield "connection-password", *match.span(2)
    for match in _PAIR.finditer(text) if ";" in text else ():
        if not _TEMPLATE.search(match[1]):
            yield "connection-password", *match.span(1)


def _headers(text: str, likely: str) -> Iterator[Found]:
    """Authorization by bearer token, or by name and password."""
    for match in _BEARER.finditer(text):
        if _is_mixed(match[1]) and not _stands_for_another(match[1]):
            yield "bearer-token", *match.span(1)
    for match in _BASIC.finditer(text):
        before = text[max(0, match.start() - 25) : match.start()].lower()
        if "authorization" in before and b":" in _decoded(match[1]):
            yield "basic-auth", *match.span(1)


def _signed(text: str, likely: str) -> Iterator[Found]:
    """Tokens that say what they are when they are decoded."""
    for match in _JWT.finditer(text) if "eyJ" in likely else ():
        if b'"alg"' in _decoded("eyJ" + match[1]):
            yield "jwt", *match.span()
    for match in _DISCORD.finditer(text) if _DISCORD.search(likely) else ():
        if _decoded(match[0].partition(".")[0]).isdigit():
            yield "discord-token", *match.span()


def _assignments(text: str, likely: str) -> Iterator[Found]:
    """`password = "…"`, `API_KEY=…`, `"token": "…"`, if the value looks made by chance."""
    for match in _ASSIGNED.finditer(text):
        start, group = match.start(), match.lastindex or 0
        before = text[max(0, start - 90) : start]
        # Cheap, and almost always all that is needed.
        if not _DIGIT.search(match[group]) or not any(map(before.lower().__contains__, _NAMING)):
            continue
        named = _NAME.search(before)
        if named is None or not names_a_secret(named[1]) or _in_mask(text, start):
            continue
        if _is_strong(match[group], quoted=group < 4):
            yield _kind(named[1]), *match.span(group)


CONTEXTS: tuple[Callable[[str, str], Iterator[Found]], ...] = (
    _connections,
    _headers,
    _signed,
    _assignments,
)


def _kind(name: str) -> str:
    name = name.lower()
    if "aws" in name or "secretaccess" in name or "secret_access" in name:
        return "aws-secret-key"
    return "password" if "pass" in name or "pwd" in name else "assigned-secret"


def _stands_for_another(value: str) -> bool:
    """A placeholder, code, a path, or one character again and again."""
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) == 1


def _in_mask(text: str, index: int) -> bool:
    """Whether what stands before is one of our masks, whose words are no name."""
    mask = text.rfind(_MASK, max(0, index - 60), index)
    return mask >= 0 and text.find("]", mask, index) >= index - 3


def _is_strong(value: str, *, quoted: bool) -> bool:
    if not _is_mixed(value) or _stands_for_another(value) or _HASH.fullmatch(value):
        return False
    if not quoted and (_CODE.match(value) or len(_DIGIT.findall(value)) < 2):
        return False
    groups = [_group(character) for character in value[:256]]
    switches = sum(a != b for a, b in pairwise(groups)) / len(groups)
    if len(value) >= (16 if quoted else 20):
        return len(set(value)) >= 8 and switches >= 0.2
    return len(set(value)) >= 7 and len(set(groups)) >= 3 and (quoted or len(set(groups)) == 4)


def _is_mixed(value: str) -> bool:
    """With letters and digits, as what is made by chance almost always is."""
    return bool(_DIGIT.search(value)) and len(_LETTER.findall(value[:256])) >= 2


def _group(character: str) -> str:
    if character.isdigit():
        return "1"
    if character.isalpha():
        return "a" if character.islower() else "A"
    return "-"


def _decoded(text: str) -> bytes:
    """Base64, either alphabet; nothing if it is none."""
    from base64 import b64decode

    try:
        return b64decode(text.translate(_STANDARD) + "=" * (-len(text) % 4))
    except ValueError:
        return b""
