"""The figures of the rules over the labelled corpus: what is found, and what is a false alarm."""

import json
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cortext.model.secrets.candidate_regions import regions
from cortext.model.secrets.detector import find_secrets, mask_text, mask_value
from tests.features.secrets import harmless_lines
from tests.features.secrets.secret_corpus import (
    Labelled,
    Maker,
    escaped,
    labelled,
    service_account,
    settings,
)

ROOT = Path(__file__).parents[3]
COUNT = 4
SETTINGS = list(settings(next(labelled(1))))


def is_masked(text: str, one: Labelled) -> bool:
    """Whether nothing of a secret is left: not its middle, and nothing that would be found."""
    masked, kinds = mask_text(text)
    plain, half = one.secret, len(one.secret) // 2
    middle = plain[half - 5 : half + 5]
    hidden = (middle, escaped(middle), json.dumps(middle)[1:-1])
    return bool(kinds) and not any(part in masked for part in hidden) and not find_secrets(masked)


def test_corpus_covers_fifty_families_without_duplicates() -> None:
    """The providers' published formats, each several times, no two alike."""
    made = list(labelled(COUNT))
    assert len({one.family for one in made}) >= 50
    assert len({one.secret for one in made}) == len(made)


@pytest.mark.parametrize("setting", SETTINGS)
def test_rules_find_95_percent_of_corpus_secrets(setting: str) -> None:
    """At least 95 of 100, wherever they stand; and of each family most."""
    made = list(labelled(COUNT))
    missed = Counter(one.family for one in made if not is_masked(settings(one)[setting], one))
    assert missed.total() <= 0.05 * len(made), missed
    of = Counter(one.family for one in made)
    assert {family: n for family, n in missed.items() if n > of[family] / 2} == {}


def test_rules_name_right_family_for_95_percent_of_secrets() -> None:
    """The right one, for nearly all: a person has to know whose key to change."""
    made = list(labelled(COUNT))
    wrong = [one.family for one in made if one.family not in mask_text(one.text)[1]]
    assert len(wrong) <= 0.05 * len(made), Counter(wrong)


def test_redacted_service_account_file_stays_json() -> None:
    """The private key in it goes, and it stays JSON."""
    text = service_account(Maker(3))
    masked, kinds = mask_text(text)
    assert kinds == ["private-key"]
    assert json.loads(masked)["private_key"].strip() == "[secret removed: private-key]"


def test_rules_find_95_percent_of_secrets_in_json_values() -> None:
    """In the records of a transcript, with their escapes gone."""
    made = list(labelled(2))
    value: Any = [{"content": one.text, "n": number} for number, one in enumerate(made)]
    masked, kinds = mask_value(value)
    assert len(kinds) >= 0.95 * len(made)
    assert [each["n"] for each in masked] == list(range(len(made)))


def test_false_alarms_are_rare_in_lines_that_resemble_secrets() -> None:
    """At most one in 10,000 lines of hashes, ids, images, lock files, placeholders and code."""
    lines = list(harmless_lines.made(24_000))
    alarms = [line for line in lines if find_secrets(line)]
    assert len(lines) >= 20_000
    assert len(alarms) <= len(lines) / 10_000, alarms[:5]


@pytest.mark.parametrize(
    ("name", "pattern"), [("ours", "*.py"), ("pages", "*.md"), ("others", "*.py")]
)
def test_false_alarms_are_rare_in_real_files(name: str, pattern: str) -> None:
    """The same of our source and pages, and of what is installed beside it."""
    folders = {
        "ours": (ROOT / "src", ROOT / "bench"),
        "pages": (ROOT / "docs", ROOT / "spec"),
        "others": tuple(
            Path(sysconfig.get_path("purelib"), package)
            for package in ("click", "msgspec", "pytest", "_pytest", "hypothesis", "rich")
        ),
    }
    pattern = "*.md" if name == "pages" else "*.py"
    lines = list(harmless_lines.of_files(*folders[name], pattern=pattern, most=60_000))
    alarms = [line for line in lines if find_secrets(line)]
    assert len(lines) > 2_000
    assert len(alarms) <= max(1, len(lines) / 10_000), alarms[:5]


def test_fast_scan_finds_secret_in_middle_of_long_text() -> None:
    """The fast look leaves nothing out that a close look at the line alone finds."""
    lines = list(harmless_lines.made(1_500))
    for one in labelled(1):
        text = "\n".join([*lines[:700], one.text, *lines[700:]])
        assert bool(find_secrets(text)) == bool(find_secrets(one.text)), one.family
    assert sum(end - start for start, end in regions(text)) < len(text)
