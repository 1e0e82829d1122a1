"""Mask secrets in the text of a settings file (JSON or TOML), before the text is shown."""

from __future__ import annotations

import re

from cortext.model.secrets.context_rules import names_a_secret

# All patterns run in linear time. A string that is not closed ends at the end of its line. A string
# in three quotes that is not closed ends at the end of the text.
_TOKEN = re.compile(
    r'"""(?P<block>(?:[^"\\]|\\[\s\S]|"(?!""))*+)(?:"""|\\?\Z)'
    r"|'''(?P<literal_block>(?:[^']|'(?!''))*+)(?:'''|\Z)"
    r'|"(?P<string>(?:[^"\\\n]|\\.)*+\\?)"?'
    r"|'(?P<literal>[^'\n]*+)'"
    r"|(?P<bracket>[\[\]{}])"
    r"|(?P<word>[^\s\"'\[\]{},:=#]++)"
)
_AFTER_KEY = re.compile(r"[ \t]*+[:=]")
_BARE_VALUE = re.compile(r"[^\n\"'\[\]{},#]++")
_CONSTANTS = ("true", "false", "null")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)")
_NAME_AND_VALUE = re.compile(r"(--?)?([A-Za-z][\w-]*)(\s*[:=]\s*)(?=\S)")
_HEADERS = ("authorization", "proxy-authorization", "cookie")
_MASK = "[secret removed]"


def mask_settings(text: str) -> str:
    """Replace the values that have the name of a secret, such as `token`, in a settings file.

    Only the name of a value decides. The value itself may be short or a common word. Its name is
    its key, the command-line option before it (`"--api-key", "…"`), or the beginning of the value
    itself (`"Authorization: …"`). The key of a list is the name of all items in the list. A
    replaced number becomes a string. Keys, `true`, `false`, `null` and all other text stay.
    """
    parts: list[str] = []
    end = 0
    is_secret = False  # whether the next value is a secret
    open_brackets = [False]  # for each open bracket, whether all items in it are secrets
    while match := _TOKEN.search(text, end):
        parts.append(text[end : match.start()])
        end = match.end()
        kind, content = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "bracket":
            parts.append(content)
            if content in "[{":
                open_brackets.append(is_secret and content == "[")
            elif len(open_brackets) > 1:
                open_brackets.pop()
            is_secret = open_brackets[-1]
        elif _AFTER_KEY.match(text, end):
            parts.append(match[0])
            is_secret = _is_secret_name(content)
        elif kind == "word":
            bare = _BARE_VALUE.match(text, match.start()) if is_secret else None
            value = bare[0].rstrip() if bare else content
            end = match.start() + len(value)
            parts.append(f'"{_MASK}"' if is_secret and value not in _CONSTANTS else value)
            is_secret = open_brackets[-1]
        else:
            masked = _MASK if is_secret and content else _mask_content(content, kind)
            before, after = match.start(kind) - match.start(), match.end(kind) - match.start()
            parts.append(f"{match[0][:before]}{masked}{match[0][after:]}")
            flag = _FLAG.fullmatch(content)
            is_secret = open_brackets[-1] or bool(flag and _is_secret_name(flag[1]))
    return "".join([*parts, text[end:]])


def _mask_content(content: str, kind: str) -> str:
    """Mask the secrets inside a string that does not have the name of a secret.

    `kind` says which quotes the string has. Three quotes may be part of a comment, and the text
    after them may be settings. So a string in three quotes is masked like a settings file.
    """
    return mask_settings(content) if kind.endswith("block") else _mask_named_value(content)


def _mask_named_value(content: str) -> str:
    """Mask the value in a string such as `Authorization: …` or `--token=…`."""
    named = _NAME_AND_VALUE.match(content)
    if named and _is_secret_name(named[2]):
        return f"{content[: named.end()]}{_MASK}"
    return content


def _is_secret_name(name: str) -> bool:
    return bool(name) and (name.lower() in _HEADERS or names_a_secret(name))
