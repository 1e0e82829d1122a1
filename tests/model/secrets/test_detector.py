"""Secrets in text: every kind is found, what only looks like one is left, and it stays linear."""

import base64
import json
import random
import string
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.model.secrets.detector import find_secrets, mask_text, mask_value
from cortext.model.secrets.key_formats import BLOCKS, KEYS
from tests.features.secrets.secret_corpus import labelled

ROOT = Path(__file__).parents[3]
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


def chance(length: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    """Always the same, and with a letter and a digit in front: this file holds no secret."""
    pick = random.Random(seed)
    head = "a4" if "4" in alphabet and "a" in alphabet else ""
    return head + "".join(pick.choice(alphabet) for _ in range(length - len(head)))


def b64(data: bytes | str) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def pem(end: str = "\n", kind: str = "RSA ") -> str:
    body = [chance(64, ALNUM + "+/", seed) for seed in range(4)] + [chance(22) + "=="]
    dashes = "-" * 5
    begin, finish = (f"{dashes}{word} {kind}PRIVATE KEY{dashes}" for word in ("BEGIN", "END"))
    return end.join([begin, *body, finish])


JWT = ".".join([b64('{"alg":"HS256"}'), b64('{"sub":"1"}'), chance(43)])
AWS_SECRET = chance(38, ALNUM + "/+") + "/x"

SECRETS = [
    ("anthropic-key", "sk-ant-" + "api03-" + chance(93, ALNUM + "_-") + "AA"),
    ("openai-key", "sk-" + chance(48)),
    ("openai-key", "sk-" + "proj-" + chance(120, ALNUM + "_-")),
    ("openrouter-key", "sk-or-" + "v1-" + chance(64, HEX)),
    ("groq-key", "gsk_" + chance(52)),
    ("xai-key", "xai-" + chance(80)),
    ("google-key", "AIza" + "Sy" + chance(33, ALNUM + "_-")),
    ("google-token", "ya29." + chance(60, ALNUM + "_-")),
    ("google-client-secret", "GOCSPX-" + chance(28)),
    ("aws-access-key", "AKIA" + chance(16, UPPER)),
    ("aws-access-key", "ASIA" + chance(16, UPPER)),
    ("github-token", "ghp_" + chance(36)),
    ("github-token", "gho_" + chance(36)),
    ("github-token", "ghs_" + chance(36)),
    ("github-token", "ghu_" + chance(36)),
    ("github-token", "ghr_" + chance(76)),
    ("github-token", "github_pat_" + chance(22) + "_" + chance(59)),
    ("gitlab-token", "glpat-" + chance(20)),
    ("slack-token", "xoxb-" + "123456789012-1234567890123-" + chance(24)),
    ("slack-token", "xoxp-" + "123456789012-" + chance(32, HEX)),
    ("stripe-key", "sk_live_" + chance(24)),
    ("stripe-key", "rk_live_" + chance(24)),
    ("stripe-webhook-secret", "whsec_" + chance(32)),
    ("npm-token", "npm_" + chance(36)),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + chance(150, ALNUM + "_-")),
    ("huggingface-token", "hf_" + chance(34)),
    ("sendgrid-key", "SG." + chance(22) + "." + chance(43)),
    ("twilio-key", "SK" + chance(32, HEX)),
    ("discord-token", b64("123456789012345678") + "." + chance(6) + "." + chance(27)),
    ("digitalocean-token", "dop_v1_" + chance(64, HEX)),
    ("docker-token", "dckr_pat_" + chance(27)),
    ("vault-token", "hvs." + chance(90)),
    ("jwt", JWT),
    ("private-key", pem()),
    ("private-key", pem(kind="OPENSSH ")),
    ("private-key", pem(kind="")),
    ("private-key", "AGE-SECRET-KEY-" + "1" + chance(58, UPPER)),
]
IN_CONTEXT = [
    ("aws-secret-key", "AWS_SECRET_ACCESS_KEY=", AWS_SECRET, "\n"),
    ("aws-secret-key", '"SecretAccessKey": "', AWS_SECRET, '"'),
    ("telegram-token", "bot 123456789:AA", chance(33), " "),
    ("azure-key", "AccountName=x;AccountKey=", chance(86) + "==", ";"),
    ("slack-webhook", "https://hooks.slack.com/services/", "T0/B0/" + chance(24), "\n"),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/", chance(68), "\n"),
    ("connection-password", "postgres://app:", "hunter2", "@db.internal:5432/x"),
    ("connection-password", "redis://:", "pa@ss", "@localhost"),
    ("connection-password", "mysql://root:", "MySecret9!", "@db"),
    ("connection-password", "Server=db;User Id=app;Password=", "hunter2", ";"),
    ("bearer-token", "Authorization: Bearer ", chance(40), "\n"),
    ("bearer-token", "-H 'authorization: bearer ", chance(24, HEX), "'"),
    ("basic-auth", "Authorization: Basic ", b64("app:hunter22") + "=", "\n"),
    ("password", 'password = "', "tR0ub4dor&3", '"'),
    ("password", "DB_PASSWORD=", chance(24), "\n"),
    ("assigned-secret", 'api_key: "', chance(32, HEX), '"'),
    ("assigned-secret", "const apiKey: string = '", chance(24), "'"),
    ("assigned-secret", 'os.environ["API_TOKEN"] = "', chance(24), '"'),
    ("assigned-secret", "https://x.invalid/?access_token=", chance(32), "&page=2"),
    ("assigned-secret", "client_secret => '", chance(24), "'"),
]
HARMLESS = [
    "commit " + chance(40, HEX),
    "sha256:" + chance(64, HEX),
    '"integrity": "sha512-' + chance(86, ALNUM + "+/") + '=="',
    '{"id": "123e4567-e89b-12d3-a456-426614174000"}',
    'api_key = "123e4567-e89b-12d3-a456-426614174000"',
    "data:image/png;base64," + chance(5000, ALNUM + "+/"),
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AKIA" + chance(15, UPPER),
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "ghp_" + "x" * 36,
    "the ghp_ prefix, sk-ant-..., sk-proj-<key> and AIza",
    "task-" + chance(40),
    "npm_config_registry_of_a_very_long_name_that_goes_on",
    "hf_hub_download_of_a_file_with_a_very_long_name",
    "eyJ" + chance(30) + "." + chance(30) + "." + chance(30),
    'if "-----BEGIN ' + 'PRIVATE KEY-----" in text: raise ValueError("no keys, please")',
    "-----BEGIN " + "PUBLIC KEY-----\n" + chance(64) + "\n-----END " + "PUBLIC KEY-----",
    "-----BEGIN " + "PRIVATE KEY-----\nMIIE...\n-----END " + "PRIVATE KEY-----",
    "postgres://user:password@localhost/db",
    "postgres://postgres:postgres@localhost/db",
    "postgres://app:<password>@db",
    "postgres://app:${DB_PASSWORD}@db",
    "postgres://app:***@db",
    "postgres://app:%s@db and postgres://app:$PGPASS@db and mysql://root:secret@db",
    "http://localhost:8080/a@b and ssh://git@github.com:22/x",
    "mailto:a@b.invalid, 12:30@noon",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${API_TOKEN_NUMBER_2_OF_5}",
    "the bearer of this letter",
    'password = os.environ["DB_PASSWORD_2"]',
    "password = getenv('DB_PASSWORD_2')",
    "apiKey: process.env.OPENAI_API_KEY_2",
    'token = self.settings.get_token_for_user2("x")',
    'password = "correct horse"',
    'password: "changeme123!"',
    'password="Test1234!"',
    "max_tokens=4096 total_tokens: 1234567890123456789",
    'secretName: "prod-db-credentials-01-eu-west"',
    'token_url = "https://auth.example.invalid/oauth2/v2/token1"',
    'nextPageToken: "' + chance(40) + '"',
    'passwordHash: "' + chance(40) + '"',
    "private_key: PKCS7PrivateKeyTypes",
    "token: Utf8StringV2",
    "password=Sha256Crypt10",
    "secret: Optional2Base64",
    "password_reset_v2=Xk29vLq8ZpTr4",
    "session 01J8ZQ4M6T0V3W9X2Y5B7C1D8E, toolu_01A09q90qw90lq917835lq9",
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_key_is_found_by_its_format(kind: str, secret: str) -> None:
    """Whole, wherever it stands, and nothing around it."""
    for before, after in (("", ""), ("use ", " now"), ('"', '"'), ("key is `", "`."), ("(", ")")):
        text = before + secret + after
        assert find_secrets(text) == [(kind, len(before), len(before) + len(secret))]
        assert mask_text(text) == (f"{before}[secret removed: {kind}]{after}", [kind])


@pytest.mark.parametrize(("kind", "before", "secret", "after"), IN_CONTEXT)
def test_secret_is_found_by_its_context(kind: str, before: str, secret: str, after: str) -> None:
    """Only the secret goes; who, where and what for stay readable."""
    assert mask_text(before + secret + after) == (
        f"{before}[secret removed: {kind}]{after}",
        [kind],
    )


def test_every_rule_has_a_labelled_example() -> None:
    """A rule that nothing tries is a rule that nobody knows to work."""
    tried = {one.family for one in labelled(1)}
    assert {rule.kind for rule in (*BLOCKS, *KEYS)} - tried == set()


@pytest.mark.parametrize("before", ["DB_PASSWORD=", "DB_PASSWORD: ", "SECRET_KEY=", "api_key = "])
@pytest.mark.parametrize("length", [12, 13, 16, 19])
def test_short_unquoted_password_without_symbols_is_found(before: str, length: int) -> None:
    password = "Xk29vLq8" + "ZpTr4b7Kd93"[: length - 8]
    masked, kinds = mask_text(f"{before}{password}\n")
    assert (len(kinds), masked) == (1, f"{before}[secret removed: {kinds[0]}]\n")


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_left_unchanged(text: str) -> None:
    """Hashes, ids, images, placeholders, examples and code."""
    assert find_secrets(text) == []
    assert mask_text(text) == (text, [])


LINE_ENDS = ["\r\n", "\\n", "\\\\n", "\n    ", '\\n"\n  + "', "\n   12\t", "\n 12→", "\n> "]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_private_key_is_found_with_any_line_ending(end: str) -> None:
    """In code, in JSON, indented, quoted, and with the line numbers that tools add."""
    text = f"before {pem(end)} after"
    assert mask_text(text) == ("before [secret removed: private-key] after", ["private-key"])


@pytest.mark.parametrize("cut", [120, 200, 290])
def test_truncated_private_key_is_found(cut: int) -> None:
    """Half a key is a secret too."""
    text = "cat key.pem\n" + pem()[:cut]
    masked, kinds = mask_text(text)
    assert (masked, kinds) == ("cat key.pem\n[secret removed: private-key]", ["private-key"])
    assert mask_text(text + "\n... (output truncated)")[1] == ["private-key"]


def test_aws_key_and_secret_in_csv_are_both_found() -> None:
    """As the console of AWS gives them for download."""
    text = f"Access key ID,Secret access key\n{'AKIA' + chance(16, UPPER)},{AWS_SECRET}\n"
    assert mask_text(text)[1] == ["aws-access-key", "aws-secret-key"]
    assert AWS_SECRET not in mask_text(text)[0]


@pytest.mark.parametrize(("kind", "secret"), SECRETS[:40:3])
def test_key_is_found_behind_json_escapes(kind: str, secret: str) -> None:
    """JSON in JSON in JSON, and characters written as escapes: found, and still JSON."""
    value: Any = {"cmd": f"x\n{secret}\ty", "n": 1}
    for _ in range(3):
        value = {"text": json.dumps(value)}
    text = json.dumps(value)
    masked, kinds = mask_text(text)
    assert kinds == [kind]
    for _ in range(3):
        value = json.loads(json.loads(masked)["text"])
        masked = json.dumps(value)
    assert value == {"cmd": f"x\n[secret removed: {kind}]\ty", "n": 1}
    split = "".join(f"\\u{ord(c):04x}" if n % 5 == 4 else c for n, c in enumerate(secret))
    split = split.replace("\n", "\\n")
    assert mask_text(f'"{split}"') == (f'"[secret removed: {kind}]"', [kind])


def test_json_values_are_redacted_in_strings_keys_and_nested_json() -> None:
    """Strings, keys, strings that are JSON, and values whose key says what they are."""
    token, other = "ghp_" + chance(36), "ghp_" + chance(36, seed=2)
    password = chance(20)
    value = {
        "a": [1, None, True, 2.5, f"see {token}"],
        token: 1,
        other: 2,
        "inner": json.dumps({"env": {"API_KEY": password}, "t": token}),
        "env": {"DB_PASSWORD": password, "PATH": "/usr/bin"},
    }
    masked, kinds = mask_value(value)
    gone = "[secret removed: github-token]"
    assert masked == {
        "a": [1, None, True, 2.5, f"see {gone}"],
        gone: 1,
        f"{gone} 2": 2,
        "inner": json.dumps({"env": {"API_KEY": "[secret removed: assigned-secret]"}, "t": gone}),
        "env": {"DB_PASSWORD": "[secret removed: password]", "PATH": "/usr/bin"},
    }
    assert sorted(kinds) == ["assigned-secret", *["github-token"] * 4, "password"]
    assert mask_value(masked) == (masked, [])
    assert find_secrets(json.dumps(masked)) == []
    assert token in value


def test_deeply_nested_value_is_redacted_without_recursion() -> None:
    """No recursion."""
    value: Any = "ghp_" + chance(36)
    for _ in range(50_000):
        value = [value]
    masked, kinds = mask_value(value)
    while isinstance(masked, list):
        (masked,) = masked
    assert (masked, kinds) == ("[secret removed: github-token]", ["github-token"])


PIECES = [secret for _, secret in SECRETS] + [a + b + c for _, a, b, c in IN_CONTEXT] + HARMLESS
PIECES += ["password=", '"token": "', "://", "\\n", '"', "@", ":", "[secret removed: github-token]"]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map("".join))
def test_redacting_text_twice_changes_nothing_more(text: str) -> None:
    """And a masked text holds no secret."""
    masked, kinds = mask_text(text)
    assert find_secrets(masked) == []
    assert mask_text(masked) == (masked, [])
    assert mask_text(text) == (masked, kinds)
    found = find_secrets(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert (masked == text) == (found == [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(PIECES),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(PIECES), inner),
    max_leaves=10,
)


@given(JSON)
def test_redacting_value_twice_changes_nothing_more(value: Any) -> None:
    """Nothing but strings changes; without a secret the value is equal."""
    before = json.dumps(value)
    masked, kinds = mask_value(value)
    assert mask_value(masked) == (masked, [])
    assert (masked == value) == (kinds == [])
    assert json.dumps(value) == before


@given(st.text(alphabet=string.ascii_letters + " ,.\n\\'\"é日"))
def test_text_without_digits_and_marks_is_unchanged(text: str) -> None:
    """Prose is prose."""
    assert mask_text(text) == (text, [])


def test_own_source_and_docs_contain_no_secret() -> None:
    """The rules do not find themselves, nor the examples of the documentation."""
    pages = [*ROOT.glob("src/**/*.md"), *ROOT.glob("docs/**/*.md")]
    files = [*ROOT.glob("src/**/*.py"), *pages]
    found = {str(f): find_secrets(f.read_text(encoding="utf-8")) for f in files}
    assert len(files) > 100
    assert {name: secrets for name, secrets in found.items() if secrets} == {}


BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
HOSTILE = [
    "a", " ", "\n", "\\", "\\\\n", '"', "=", ":", "@", "-", "_", ".", "+", "1\t", "\\u0041", "=a1=",
    "://", "://a:", "://a:b", "sk-", "sk-ant-", "ghp_", "github_pat_", "AKIA", "SG.", "xoxb-",
    "eyJ", "eyJaaaaaaaa.", "M", "Maaaa.", ":AA", "Bearer ", "bearer a1", "asic ", ";pwd=",
    BEGIN, f"{BEGIN}\n{'A' * 64}\n", "A" * 64 + "\n", "ghp_" + "a1B2" * 9 + " ",
    "password", "password=", "token=token1", 'token="', "token: a1", "secretsecretsecret=",
    "key=[secret removed: x]", "Private-Lines: 1\n", "asic aaaaaaaa",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_detection_takes_time_linear_in_text_length(unit: str) -> None:
    """Ten times the text takes about ten times as long, and never a hundred times."""
    small, large = (unit * (size // len(unit)) for size in (100_000, 1_000_000))
    assert _seconds(large) < 35 * max(_seconds(small), 0.01)


def _seconds(text: str) -> float:
    """Of this process alone: others share the machine."""
    start = time.process_time()
    mask_text(text)
    return time.process_time() - start
