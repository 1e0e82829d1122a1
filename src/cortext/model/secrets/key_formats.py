"""The formats of API keys and tokens, as their providers publish them.

Each rule has a kind, words and a pattern. The pattern is tried only if a text contains one of the
words. The secret is the group `secret` of the match, or the whole match if there is no such group.
`KEYS` has the rules for keys of one long word. `BLOCKS` has the rules for keys of several lines.

Every pattern runs in linear time. It starts with a literal, and its repetitions are bounded or
possessive, so that the search never backtracks far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Found = tuple[str, int, int]
"""A secret found in a text: its kind, and its start and end."""


def is_example(text: str) -> bool:
    """Return whether a key is an example, or repeats only a few characters, and so is not real."""
    return "EXAMPLE" in text.upper() or len(set(text[-16:])) <= 3


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule that finds one kind of secret by its format.

    The pattern `expression` is tried only if a text contains one of the `words`.
    """

    kind: str
    words: tuple[str, ...]
    expression: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern. It is compiled at its first use, because few texts need it."""
        return re.compile(self.expression)

    def find(self, text: str) -> Iterator[Found]:
        """Yield the kind and position of each secret in a text, except for obvious examples."""
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if not is_example(match[group]):
                yield self.kind, *match.span(group)


def _rule(kind: str, words: str, expression: str) -> Rule:
    return Rule(kind, tuple(words.split()), expression)


# The text between two lines of a key: line ends, also as escapes or as the end of a string in
# code; indentation; quotation marks; and the line numbers that tools print.
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
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glptt- glft- glsoat- glcbt- glimt- glagent- gloas- glffct-",
        r"gl(?:pat|dt|rtr?|ptt|ft|soat|cbt|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{20,200}",
    ),
    _rule("slack-token", "xox xapp-", r"x(?:ox[a-z]|app)-[A-Za-z0-9-]{20,250}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{30,120})",
    ),
    _rule("stripe-key", "k_live_ k_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}"),
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
    _rule(
        "azure-sas",
        "sig=",
        r"sig=(?<=[?&;]sig=)(?P<secret>[A-Za-z0-9%+/_-]{42,130}={0,2})(?![A-Za-z0-9%+/_-])",
    ),
    _rule("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _rule("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,64}"),
    _rule("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,250}"),
    _rule(
        "terraform-token",
        ".atlasv1.",
        r"\.atlasv1\.(?<=[A-Za-z0-9]{14}\.atlasv1\.)(?P<secret>[A-Za-z0-9_-]{60,80})",
    ),
    _rule("mailgun-key", "key-", r"key-(?<![A-Za-z0-9_-]key-)[0-9a-f]{32}(?![A-Za-z0-9_-])"),
    _rule("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _rule(
        "shopify-token", "shpat_ shpss_ shpca_ shppa_", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}(?!\w)"
    ),
    _rule("square-token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}"),
    _rule("databricks-token", "dapi", r"dapi(?<!\wdapi)[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9_-])"),
    _rule("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _rule("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,50}(?!\w)"),
    _rule("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}(?!\w)"),
    _rule(
        "grafana-token", "glsa_ glc_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_eyJ[\w+/=]{40,400}"
    ),
    _rule("sentry-token", "sntrys_ sntryu_", r"sntrys_eyJ[\w+/=-]{60,400}|sntryu_[0-9a-f]{64}"),
    _rule("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _rule("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{38,45}"),
    _rule("replicate-token", "r8_", r"r8_(?<!\wr8_)[A-Za-z0-9]{37}(?!\w)"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{48,56}(?!\w)"),
    _rule("supabase-token", "sbp_", r"sbp_[0-9a-f]{40}(?!\w)"),
    _rule("atlassian-token", "ATATT3xFfG", r"ATATT3xFfG[A-Za-z0-9_=-]{100,250}"),
    _rule("tailscale-key", "tskey-", r"tskey-[a-z]{3,8}-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{16,64}"),
    _rule("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}(?!\w)"),
    _rule("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}"),
)
