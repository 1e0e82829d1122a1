"""The markdown export. Each message is a markdown quote, so it cannot look like another message.

Markdown inside a message keeps its meaning, except for HTML, images and link definitions. These are
escaped, because they have effects outside of the message.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from cortext.formats.exports.embedded_session import EmbeddedDocument, seal, unseal
from cortext.formats.exports.export_view import ExportPart, ShownCall, facts, parts
from cortext.formats.exports.printable_text import LONGEST_MARKDOWN, one_line, utc, visible
from cortext.formats.exports.safe_markdown_parsing import DEEPEST, parse
from cortext.model.session import Session

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# This text cannot occur in a message: lines with text of a message begin with `>`, `-` or `#`.
_OPENING = "\n<!-- cortext-session {}\n"
_CLOSING = "-->\n"
_LONGEST_OUTPUT = 4000
_UNSAFE_TOKENS = frozenset(("html_block", "html_inline", "image"))
# The first alternative skips characters that are escaped already.
_UNSAFE_SIGN = re.compile(r"\\.|<(?=[A-Za-z/!?])|!(?=\[)|\[(?=\^)|&(?=#|[lr]rm;)")
_MAY_BE_UNSAFE = re.compile(r"[<&]|!\[|\[\^|\]:")
_DEFINITION = re.compile(r"^([\s>*+.)\d-]*)(?=\[[^\]]+\]:)")
_CODE = re.compile(r"(?<![`\\])(`+)(?!`).+?(?<!`)\1(?!`)")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>#|~&!$^])")


def encode(session: Session) -> bytes:
    """Return a session as the content of a markdown file."""
    lines = [f"# {_plain(session.title) or 'Untitled'}", ""]
    if session.summary.strip():
        lines += [f"> {_plain(session.summary)}", ""]
    lines += [f"- **{name}:** {_plain(value)}" for name, value in facts(session)]
    for part in parts(session):
        lines += ["", *_part(part)]
    return seal("\n".join(lines) + "\n", session, _OPENING, _CLOSING)


def find(text: str) -> EmbeddedDocument | None:
    """Return the JSON of the session in a markdown export, or None if the text has no JSON.

    Raises ValueError if the file was cut off inside the JSON.
    """
    return unseal(text, _OPENING, _CLOSING)


def quote(text: str) -> str:
    """Return the text of a message as a markdown quote. Nothing in the text can end the quote.

    HTML, images and link definitions are escaped. If the text is too long or cannot be escaped
    safely, the whole text becomes a code block in the quote.
    """
    quoted = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
    if not _MAY_BE_UNSAFE.search(quoted):
        return quoted
    if len(quoted) > LONGEST_MARKDOWN:
        return quote_code(text)
    for spans in (True, False, False):
        # Escaping can change where code begins and ends, so check again and escape once more.
        quoted = _escape_quote(quoted, spans)
        if _is_safe(quoted):
            return quoted
    return quote_code(text)


def quote_code(text: str) -> str:
    """Return a text as a code block in a markdown quote, without escaping anything."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return "\n".join(f"> {line}" for line in (fence, *text.split("\n"), fence))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": DEEPEST})


@cache
def _block_parser() -> MarkdownIt:
    """Return a markdown parser that finds only blocks, such as paragraphs and code blocks.

    This parser needs half the time of a full parser.
    """
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": DEEPEST}).disable(["inline", "text_join"])


def _is_safe(quoted: str) -> bool:
    """Return whether a markdown quote cannot affect the text outside of the quote.

    A safe quote has no HTML, no images and no link definitions. It also has no hidden characters,
    and no HTML entities for hidden characters, such as `&#8203;`.
    """
    env: dict[str, Any] = {}
    tokens = parse(_parser(), quoted, env)
    if tokens is None:
        return False
    inner = [child for token in tokens for child in token.children or ()]
    return (
        not env.get("references")
        and not any(token.type in _UNSAFE_TOKENS for token in [*tokens, *inner])
        and all(visible(token.content) == token.content for token in inner)
    )


def _escape_quote(quoted: str, spans: bool) -> str:
    """Escape HTML, images and link definitions in a markdown quote with backslashes.

    Code blocks are not escaped. If `spans` is true, code inside a line (a code span) is not escaped
    either.
    """
    code = set[int]()
    for token in parse(_block_parser(), quoted) or ():
        if token.type in ("fence", "code_block") and token.map:
            code.update(range(*token.map))
    return "\n".join(
        line if number in code else _escape_line(line, spans)
        for number, line in enumerate(quoted.split("\n"))
    )


def _escape_line(line: str, spans: bool) -> str:
    line = _DEFINITION.sub(r"\1\\", line)
    done, end = list[str](), 0
    for code in _CODE.finditer(line) if spans else ():
        done += [_escape_unsafe(line[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*done, _escape_unsafe(line[end:])])


def _escape_unsafe(text: str) -> str:
    return _UNSAFE_SIGN.sub(
        lambda match: match[0] if match[0][0] == "\\" else f"\\{match[0]}", text
    )


def _part(part: ExportPart) -> list[str]:
    number = f"{part.number}. " if part.number else ""
    name = f" ({_plain(part.name)})" if part.name.strip() else ""
    lines = [f"## {number}{part.role}{name} · {utc(part.when)}"]
    text = visible(part.text)
    if text.strip():
        lines += ["", _output(text) if part.role == "tool" else quote(text)]
    elif not part.calls:
        lines += ["", "*no text*"]
    return [*lines, "", *map(_call, part.calls)] if part.calls else lines


def _output(text: str) -> str:
    if len(text) <= _LONGEST_OUTPUT:
        return quote_code(text)
    left = len(text) - _LONGEST_OUTPUT
    return f"{quote_code(text[:_LONGEST_OUTPUT])}\n\n*and {left} more characters*"


def _call(call: ShownCall) -> str:
    line = one_line(call.line) or "a tool"
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"- {ticks}{space}{line}{space}{ticks}"


def _plain(text: str) -> str:
    """Return a text on one line, with all markdown characters escaped."""
    return _PUNCTUATION.sub(r"\\\1", one_line(text))
