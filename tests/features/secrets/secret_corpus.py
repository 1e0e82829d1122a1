"""A labelled corpus of secrets, made at test time: no value in it is anybody's.

Each has the shape that its provider publishes, with the checksum where there is one. Prefixes are
put together from parts, so that no file of ours holds what a push protection would stop.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WEB = ALNUM + "_-"
B64 = ALNUM + "+/"
UPPER32 = string.ascii_uppercase + "234567"


class Labelled(NamedTuple):
    """A text with one secret in it, which is `before` to `after` of it."""

    family: str
    before: str
    secret: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


class Maker:
    """Makes values by chance, always the same for one seed."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def of(self, length: int, alphabet: str = ALNUM) -> str:
        """As chance has it, but with letters and digits where the alphabet has both."""
        while True:
            made = "".join(self.pick.choices(alphabet, k=length))
            mixed = any(c.isdigit() for c in made) and any(c.isalpha() for c in made)
            if mixed or length < 4 or alphabet.isdecimal():
                return made

    def digits(self, length: int) -> str:
        return self.pick.choice("123456789") + self.of(length - 1, string.digits)

    def b64(self, size: int) -> str:
        return base64.b64encode(self.pick.randbytes(size)).decode()

    def checked(self, prefix: str, length: int) -> str:
        """Tokens of GitHub and npm end in the CRC32 of what is random, in base 62."""
        body = self.of(length - 6)
        rest, end = zlib.crc32(body.encode()), ""
        for _ in range(6):
            rest, digit = divmod(rest, 62)
            end = (string.digits + string.ascii_uppercase + string.ascii_lowercase)[digit] + end
        return prefix + body + end

    def pem(self, kind: str, size: int = 600) -> str:
        body = self.b64(size)
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        dashes = "-" * 5
        begin, end = (f"{dashes}{word} {kind}PRIVATE KEY{dashes}" for word in ("BEGIN", "END"))
        return "\n".join([begin, *lines, end])

    def jwt(self) -> str:
        head = {"alg": self.pick.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
        claims = {"sub": self.digits(10), "iat": 1_700_000_000 + self.pick.randrange(10**7)}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in (head, claims)]
        return ".".join([*(part.decode().rstrip("=") for part in parts), self.of(43, WEB)])

    def discord(self) -> str:
        id = base64.b64encode(str(self.pick.randrange(10**17, 10**18)).encode()).decode()
        return f"{id.rstrip('=')}.{self.of(6, WEB)}.{self.of(38, WEB)}"

    def password(self) -> str:
        """As people are told to make them: all four kinds of characters."""
        body = [self.of(6), self.pick.choice("!#%+?^~"), self.digits(2), self.pick.choice("xyzQRS")]
        body += ["aB7", self.of(4)]
        self.pick.shuffle(body)
        return "".join(body)


# A family, what stands before it, and how one is made. Bare ones stand anywhere.
Make = Callable[[Maker], str]
KEYS: list[tuple[str, Make]] = [
    ("aws-access-key", lambda m: "AK" + "IA" + m.of(16, UPPER32)),
    ("aws-access-key", lambda m: "AS" + "IA" + m.of(16, UPPER32)),
    ("github-token", lambda m: m.checked("gh" + "p_", 36)),
    ("github-token", lambda m: m.checked("gh" + m.pick.choice("osur") + "_", 36)),
    ("github-token", lambda m: "github" + "_pat_" + m.of(22) + "_" + m.of(59)),
    ("gitlab-token", lambda m: "gl" + "pat-" + m.of(20, WEB)),
    ("gitlab-token", lambda m: "gl" + m.pick.choice(["dt", "rt", "ptt", "soat"]) + "-" + m.of(20)),
    ("slack-token", lambda m: "xo" + f"xb-{m.digits(12)}-{m.digits(13)}-{m.of(24)}"),
    ("slack-token", lambda m: "xo" + f"xp-{m.digits(12)}-{m.digits(12)}-{m.of(32, HEX)}"),
    ("slack-token", lambda m: "xa" + f"pp-1-A{m.of(10)}-{m.digits(13)}-{m.of(64, HEX)}"),
    ("stripe-key", lambda m: "sk_" + "live_" + m.of(24)),
    ("stripe-key", lambda m: "rk_" + "test_" + m.of(99)),
    ("stripe-webhook-secret", lambda m: "wh" + "sec_" + m.of(32)),
    ("google-key", lambda m: "AI" + "za" + "Sy" + m.of(33, WEB)),
    ("google-client-secret", lambda m: "GOC" + "SPX-" + m.of(28, WEB)),
    ("google-token", lambda m: "ya" + "29." + m.of(120, WEB)),
    ("openai-key", lambda m: "s" + "k-" + m.of(20) + "T3BlbkFJ" + m.of(20)),
    ("openai-key", lambda m: "s" + "k-proj-" + m.of(74, WEB) + "T3BlbkFJ" + m.of(74, WEB)),
    ("openai-key", lambda m: "s" + "k-svcacct-" + m.of(120, WEB)),
    ("anthropic-key", lambda m: "sk-" + "ant-api03-" + m.of(93, WEB) + "AA"),
    ("openrouter-key", lambda m: "sk-" + "or-v1-" + m.of(64, HEX)),
    ("groq-key", lambda m: "gs" + "k_" + m.of(52)),
    ("xai-key", lambda m: "xa" + "i-" + m.of(80)),
    ("perplexity-key", lambda m: "pp" + "lx-" + m.of(48)),
    ("replicate-token", lambda m: "r" + "8_" + m.of(37)),
    ("huggingface-token", lambda m: "h" + "f_" + m.of(34)),
    ("npm-token", lambda m: m.checked("np" + "m_", 36)),
    ("pypi-token", lambda m: "py" + "pi-AgEIcHlwaS5vcmc" + m.of(160, WEB)),
    ("rubygems-key", lambda m: "ruby" + "gems_" + m.of(48, HEX)),
    ("docker-token", lambda m: "dckr" + "_pat_" + m.of(27, WEB)),
    ("digitalocean-token", lambda m: "do" + m.pick.choice("por") + "_v1_" + m.of(64, HEX)),
    ("twilio-key", lambda m: "S" + "K" + m.of(32, HEX)),
    ("sendgrid-key", lambda m: "S" + "G." + m.of(22, WEB) + "." + m.of(43, WEB)),
    ("mailgun-key", lambda m: "ke" + "y-" + m.of(32, HEX)),
    ("brevo-key", lambda m: "xkey" + "sib-" + m.of(64, HEX) + "-" + m.of(16)),
    ("discord-token", lambda m: m.discord()),
    (
        "shopify-token",
        lambda m: "shp" + m.pick.choice(["at", "ss", "ca", "pa"]) + "_" + m.of(32, HEX),
    ),
    ("square-token", lambda m: "sq" + "0atp-" + m.of(22, WEB)),
    ("databricks-token", lambda m: "da" + "pi" + m.of(32, HEX)),
    ("vault-token", lambda m: "hv" + m.pick.choice("sb") + "." + m.of(95, WEB)),
    ("linear-key", lambda m: "li" + "n_api_" + m.of(40)),
    ("notion-token", lambda m: "nt" + "n_" + m.of(46)),
    ("newrelic-key", lambda m: "NR" + "AK-" + m.of(27, string.ascii_uppercase + string.digits)),
    ("grafana-token", lambda m: "gl" + "sa_" + m.of(32) + "_" + m.of(8, HEX)),
    ("grafana-token", lambda m: "gl" + "c_eyJ" + m.of(90)),
    ("sentry-token", lambda m: "snt" + "rys_eyJ" + m.of(120)),
    ("sentry-token", lambda m: "snt" + "ryu_" + m.of(64, HEX)),
    ("postman-key", lambda m: "PM" + "AK-" + m.of(24, HEX) + "-" + m.of(34, HEX)),
    ("figma-token", lambda m: "fi" + "gd_" + m.of(40, WEB)),
    ("supabase-token", lambda m: "sb" + "p_" + m.of(40, HEX)),
    (
        "atlassian-token",
        lambda m: "ATA" + "TT3xFfGF0" + m.of(180, WEB) + "=" + m.of(8, HEX).upper(),
    ),
    ("tailscale-key", lambda m: "ts" + "key-auth-" + m.of(12) + "CNTRL-" + m.of(32)),
    ("planetscale-token", lambda m: "psc" + "ale_tkn_" + m.of(43, WEB)),
    ("jwt", lambda m: m.jwt()),
    ("private-key", lambda m: m.pem("RSA ")),
    ("private-key", lambda m: m.pem("EC ", 120)),
    ("private-key", lambda m: m.pem("")),
    ("private-key", lambda m: m.pem("OPENSSH ", 400)),
    (
        "private-key",
        lambda m: "AGE-" + "SECRET-KEY-1" + m.of(58, string.ascii_uppercase + "023456789"),
    ),
]
NAMED: list[tuple[str, str, Make, str]] = [
    ("aws-secret-key", "aws_secret_access_key = ", lambda m: m.of(40, B64), "\n"),
    ("aws-secret-key", '"SecretAccessKey": "', lambda m: m.of(40, B64), '"'),
    ("slack-webhook", "https://hooks.slack.com/services/",
     lambda m: f"T{m.of(10)}/B{m.of(10)}/{m.of(24)}", "\n"),
    ("discord-webhook", "https://discord.com/api/webhooks/112233445566778899/",
     lambda m: m.of(68, WEB), "\n"),
    ("telegram-token", "api.telegram.org/bot123456789:AA", lambda m: m.of(33, WEB), "/getMe"),
    ("azure-key", "DefaultEndpointsProtocol=https;AccountName=store1;AccountKey=",
     lambda m: m.b64(64), ";EndpointSuffix=core.windows.net"),
    ("azure-sas", "https://store1.blob.core.windows.net/c?sv=2024-11-04&se=2026-01-01&sp=r&sig=",
     lambda m: m.b64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"), " "),
    ("terraform-token", 'token = "aB3dEfGh1jKlMn.atlasv1.', lambda m: m.of(67), '"'),
    ("connection-password", "postgresql://app:", lambda m: m.of(16), "@db.internal:5432/shop"),
    ("connection-password", "mongodb+srv://admin:", lambda m: m.password(), "@c0.mongodb.net"),
    ("connection-password", "https://deploy:", lambda m: m.of(20), "@git.example.net/x.git"),
    ("connection-password", "redis://:", lambda m: m.of(24), "@cache:6379/0"),
    ("connection-password", "Server=db;User Id=app;Password=", lambda m: m.password(), ";"),
    ("bearer-token", "Authorization: Bearer ", lambda m: m.of(40), "\n"),
    ("basic-auth", "Authorization: Basic ",
     lambda m: base64.b64encode(f"app:{m.of(12)}".encode()).decode(), "\n"),
    ("password", 'password = "', lambda m: m.password(), '"'),
    ("password", "DB_PASSWORD=", lambda m: m.of(24), "\n"),
    ("password", "  password: '", lambda m: m.password(), "'"),
    ("assigned-secret", 'API_KEY = "', lambda m: m.of(32), '"'),
    ("assigned-secret", '"client_secret": "', lambda m: m.of(32, WEB), '"'),
    ("assigned-secret", "export AUTH_TOKEN=", lambda m: m.of(40, HEX), "\n"),
]  # fmt: skip
AROUND = [
    ("", ""),
    ("use ", " now"),
    ('"', '"'),
    ("the key is `", "`."),
    ("(", ")"),
    ("KEY=", "\n"),
]


def labelled(count: int = 4) -> Iterator[Labelled]:
    """So many of each family."""
    for number, (family, make) in enumerate(KEYS):
        for seed in range(count):
            maker = Maker(1_000 * number + seed)
            before, after = AROUND[(number + seed) % len(AROUND)]
            yield Labelled(family, before, make(maker), after)
    for number, (family, before, make, after) in enumerate(NAMED):
        for seed in range(count):
            yield Labelled(family, before, make(Maker(500_000 + 1_000 * number + seed)), after)


def service_account(maker: Maker) -> str:
    """The file that Google gives out for a service account."""
    return json.dumps(
        {"type": "service_account", "project_id": "shop-1", "private_key_id": maker.of(40, HEX),
         "private_key": maker.pem("") + "\n", "client_email": "a@shop-1.iam.gserviceaccount.com"}
    )  # fmt: skip


def escaped(text: str, every: int = 5) -> str:
    """In JSON, some characters written as escapes, and slashes as PHP writes them."""
    inner = json.dumps(text)[1:-1].replace("/", "\\/")
    out, at = [], 0
    while at < len(inner):
        if inner[at] == "\\":
            out.append(inner[at : at + 2])
            at += 2
            continue
        hide = at % every == every - 1 and (inner[at].isalnum() or inner[at] in "-_.")
        out.append(f"\\u{ord(inner[at]):04x}" if hide else inner[at])
        at += 1
    return "".join(out)


def settings(one: Labelled) -> dict[str, str]:
    """The same in every place where transcripts have it."""
    inner = json.dumps({"stdout": f"$ cat .env\n{one.text}\n", "exit": 0})
    result = {"type": "tool_result", "content": [{"type": "text", "text": one.text}]}
    return {
        "plain": f"Here it is:\n{one.text}\nand that is all.",
        "code block": f"Set this:\n\n```sh\n{one.text}\n```\n",
        "tool result": json.dumps({"type": "user", "message": {"content": [result]}}),
        "JSON in JSON": json.dumps({"message": {"content": inner}}),
        "multi-line string": f'x = "first line\\n{json.dumps(one.text)[1:-1]}\\nlast line"',
        "escapes": f'{{"text": "see {escaped(one.text)} there"}}',
        "escaped hyphens": json.dumps({"text": one.text}).replace("-", "\\u002d"),
    }


def make_secret(family: str, seed: int = 1) -> str:
    """Return a secret of a family."""
    make = next(make for name, make in KEYS if name == family)
    return make(Maker(seed))
