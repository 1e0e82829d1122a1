"""Lines that look like secrets and are none, made by chance, always the same."""

from __future__ import annotations

import base64
import random
import string
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
_WORDS = """
    token key secret password session agent message store index archive catalog reader writer
    folder window search restore resume export import request response header cookie cache
    credential api auth public private client server user account value field config setting
"""
WORDS = _WORDS.split()


class Lines:
    """One line of each kind, again and again."""

    def __init__(self, seed: int) -> None:
        self._pick = random.Random(seed)

    def _of(self, length: int, alphabet: str = ALNUM) -> str:
        return "".join(self._pick.choices(alphabet, k=length))

    def _words(self, count: int, joint: str = " ") -> str:
        return joint.join(self._pick.choices(WORDS, k=count))

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._pick.getrandbits(128), version=4))

    def _b64(self, size: int) -> str:
        return base64.b64encode(self._pick.randbytes(size)).decode()

    def kinds(self) -> list[Callable[[], str]]:
        of, words, pick = self._of, self._words, self._pick
        return [
            lambda: f"commit {of(40, HEX)}",
            lambda: f"index {of(7, HEX)}..{of(7, HEX)} 100644",
            lambda: f"{of(64, HEX)}  {words(2, '-')}-{pick.randrange(9)}.tar.gz",
            lambda: f'"integrity": "sha512-{self._b64(64)}",',
            lambda: f"    --hash=sha256:{of(64, HEX)} \\",
            lambda: f'checksum = "{of(64, HEX)}"',
            lambda: f"h1:{self._b64(32)}",
            lambda: f'{{"id": "{self._uuid()}", "key": "{words(2, "_")}", "n": {of(2, HEX)}}}',
            lambda: f'"sessionId":"{self._uuid()}","requestId":"req_01{of(22)}"',
            lambda: f'"tool_use_id": "toolu_01{of(22)}", "is_error": false',
            lambda: f"data:image/png;base64,{self._b64(900)}",
            lambda: self._b64(57),
            lambda: f"!function(e,t){{var {of(1)}={pick.randrange(99)},key=t.{of(2)};e.token=key}}"
                    f"(this,function(){{return {of(3, string.ascii_lowercase)}.{words(1)}()}});",
            lambda: f'.{words(3, "-")}-{of(5)} {{ background: url("/static/{of(20, HEX)}.png") }}',
            lambda: f"def {words(3, '_')}(self, {words(1)}: str, {words(1)}2: int = 4096) -> None:",
            lambda: f"    {words(2, '_')} = self._{words(2, '_')}2({words(1)}, {words(1)}_v2)",
            lambda: f'    password = os.environ["{words(2, "_").upper()}_2"]',
            lambda: f"  apiKey: process.env.{words(2, '_').upper()}_KEY_1,",
            lambda: f'    token = get_{words(2, "_")}_v2("{words(1)}")',
            lambda: f"max_tokens={pick.randrange(10**6)} total_tokens: {pick.randrange(10**9)}",
            lambda: f'"input_tokens":{pick.randrange(10**6)},"cache_read_input_tokens":'
                    f"{pick.randrange(10**6)}",
            lambda: f'nextPageToken: "{of(40)}"',
            lambda: f'password_hash = "{of(60)}"',
            lambda: f"ETag: \"{of(32, HEX)}\"  X-Request-Id: {self._uuid()}",
            lambda: f"https://{words(1)}.example.com/{words(2, '/')}?id={pick.randrange(10**9)}"
                    f"&v={of(8, HEX)}#{words(1)}",
            lambda: f"postgres://{words(1)}:${{{words(1).upper()}_PASSWORD}}@localhost:5432/x2",
            lambda: f"git@github.com:{words(2, '/')}-{pick.randrange(99)}.git",
            lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{of(43)} {words(1)}@host2",
            lambda: "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE",
            lambda: "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
            lambda: f"OPENAI_API_KEY=sk-...{of(4)}  # your key from the console",
            lambda: f"export {words(1).upper()}_TOKEN=<your-{words(2, '-')}-here-2>",
            lambda: f"task-{words(3, '-')}-{of(12, LOWER)}",
            lambda: f"{words(1)}-{of(10, HEX)}-{of(5, LOWER)} 1/1 Running",
            lambda: f"sha256:{of(64, HEX)}",
            lambda: f"arn:aws:iam::{pick.randrange(10**12):012}:role/{words(2, '-')}-{of(12)}",
            lambda: f"2026-0{pick.randrange(1, 9)}-11T10:{pick.randrange(10, 60)}:02Z INFO "
                    f"{words(4)} {words(1)}={of(16, HEX)}",
            lambda: f"E   AssertionError: assert '{of(24, HEX)}' == '{of(24, HEX)}'",
            lambda: f"        at {words(1)}.{words(1)} (/app/node_modules/{words(2, '-')}/lib/"
                    f"{words(1)}.js:{pick.randrange(999)}:{pick.randrange(99)})",
            lambda: f"\\u003cdiv class=\\u0022{words(2, '-')}-{of(6)}\\u0022\\u003e{words(3)}"
                    "\\u003c\\/div\\u003e",
            lambda: f"-----BEGIN PUBLIC KEY----- {self._b64(48)}",
            lambda: f"-----BEGIN CERTIFICATE-----\\n{self._b64(48)}\\n{self._b64(48)}",
            lambda: f"the bearer of this {words(1)} may {words(2)}; the key-{words(1)}",
            lambda: f"01J8ZQ4M6T{of(16, string.digits + 'ABCDEFGHJKMNPQRSTVWXYZ')} {words(3)}",
            lambda: " ".join([words(9), words(9, " the "), str(pick.randrange(999))]),
            lambda: f"SELECT {words(3, ', ')} FROM {words(1)}s WHERE {words(1)}_id = {of(2)};",
            lambda: f'<a href="/{words(3, "/")}" id="{of(12)}" data-key="{words(2, "-")}">x</a>',
            lambda: f"key: {words(2, '-')}-{{{{ hashFiles('**/*.lock') }}}}-{pick.randrange(99)}",
        ]  # fmt: skip


def made(count: int, seed: int = 7) -> Iterator[str]:
    """So many lines, of every kind in turn."""
    kinds = Lines(seed).kinds()
    for number in range(count):
        yield kinds[number % len(kinds)]()


def of_files(*folders: Path, pattern: str, most: int) -> Iterator[str]:
    """Lines of real files, by their order in the alphabet."""
    left = most
    for folder in folders:
        for path in sorted(folder.rglob(pattern)):
            for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:left]:
                left -= 1
                yield line
            if not left:
                return
