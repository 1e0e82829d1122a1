"""The price of a model by any spelling of its name, and the cost of an answer to the cent."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cortext.errors import CortextError
from cortext.features.usage.model_names import is_pattern, spellings_of
from cortext.features.usage.price_table import load_table, read_table_file
from cortext.features.usage.prices import Prices, list_prices, load_prices
from cortext.model.answer_usage import TokenUsage

BUILT_IN = load_prices("")
ROOT = Path(__file__).parents[3]


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


NOW = micros("2026-11-15T12:00")


def cost(model: str, at: int = NOW, /, *, prices: Prices = BUILT_IN, **tokens: int) -> float | None:
    return prices.cost(model, TokenUsage(**tokens), at)


def price_file(tmp_path: Path, text: str, name: str = "prices.toml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [
        ({"input": 1_000}, 0.003),  # 3 dollars per million
        ({"output": 1_000}, 0.015),  # 15
        ({"cache_read": 10_000}, 0.003),  # 0.30
        ({"cache_write": 1_000}, 0.00375),  # 3.75
        ({"cache_write_1h": 1_000}, 0.006),  # 6
        ({"output": 1_000, "reasoning": 900}, 0.015),
        (
            {"input": 1_200, "output": 800, "cache_read": 90_000, "cache_write": 4_000},
            0.0036 + 0.012 + 0.027 + 0.015,
        ),
        ({}, 0),
    ],
)
def test_cost_of_each_token_kind(tokens: dict[str, int], dollars: float) -> None:
    found = BUILT_IN.cost("claude-sonnet-4-5-20250929", TokenUsage(**tokens), NOW)
    assert found == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [
        ({"input": 200_000, "output": 1_000}, 0.6 + 0.015),
        ({"input": 200_001, "output": 1_000}, 1.200006 + 0.0225),
        ({"input": 1, "cache_read": 200_000}, 0.000006 + 0.12),
        ({"cache_write": 150_000, "cache_write_1h": 60_000}, 1.125 + 0.72),
    ],
)
def test_long_prompt_has_price_of_its_tier_for_all_tokens(
    tokens: dict[str, int], dollars: float
) -> None:
    """Above 200,000 tokens: input 6, output 22.50, reads 0.60, writes 7.50 and 12."""
    found = BUILT_IN.cost("claude-sonnet-4-5", TokenUsage(**tokens), NOW)
    assert found == pytest.approx(dollars)


def test_highest_reached_tier_applies() -> None:
    """Above 32,000 tokens 0.10, above 256,000 tokens 0.20."""
    found = [cost("qwen/qwen3.7-flash", input=size) for size in (10_000, 100_000, 1_000_000)]
    assert found == pytest.approx([0.0003, 0.01, 0.2])


@pytest.mark.parametrize(
    ("model", "day", "dollars"),
    [
        ("o3", "2025-06-09", 10.0),
        ("o3", "2025-06-10", 2.0),
        ("claude-sonnet-4-6", "2026-03-12", 6.0),
        ("claude-sonnet-4-6", "2026-03-13", 3.0),
        ("gemini-3.6-flash", "2026-12-31", 0.75),
        ("gemini-3.6-flash", "2027-01-01", 1.5),
    ],
)
def test_price_change_applies_from_its_day_on(model: str, day: str, dollars: float) -> None:
    at = micros(f"{day}T00:00")
    assert cost(model, at, input=1_000_000) == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("at", "dollars"),
    [
        ("2026-11-15T00:59", 0.66),
        ("2026-11-15T01:00", 1.32),
        ("2026-11-15T03:59", 1.32),
        ("2026-11-15T04:00", 0.66),
        ("2026-11-15T06:00", 1.32),
        ("2026-08-16T02:00", 0.435),  # before there was a price by the hour
    ],
)
def test_price_by_hour_applies_in_its_hours_only(at: str, dollars: float) -> None:
    assert cost("deepseek-v4-pro", micros(at), input=1_000_000) == pytest.approx(dollars)


@pytest.mark.parametrize("at", [0, -(10**30), 10**30])
def test_absurd_time_has_a_price(at: int) -> None:
    assert cost("claude-sonnet-4-6", at, input=1_000_000)


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("Claude-Opus-5-5-20260901", "claude-opus-5-5"),
        ("claude-opus-4-latest", "claude-opus-4-0"),
        ("claude-opus-5-5-thinking", "claude-opus-5-5"),
        ("claude-4.5-sonnet-thinking", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("publishers/anthropic/models/claude-opus-5-5@default", "claude-opus-5-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-opus-5-5-v1", "claude-opus-5-5"),
        ("amazon-bedrock/us-gov.anthropic.claude-opus-5-5-20260901-v1:0", "claude-opus-5-5"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-5-5-v1:0:200k",
            "claude-opus-5-5",
        ),
        ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("gpt-5.1-codex-max", "gpt-5.1"),
        ("openai/gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-6.1-sol-2026-11-01", "gpt-6.1-sol"),
        ("models/gemini-2.5-pro-preview-06-05", "gemini-2.5-pro"),
        ("z-ai/glm-4.6:exacto", "glm-4.6"),
        ("qwen/qwen3-coder", "qwen3-coder"),
    ],
)
def test_spelling_of_name_has_price_of_its_model(model: str, like: str) -> None:
    found = BUILT_IN.find(model, NOW)
    assert found is not None
    assert found == BUILT_IN.find(like, NOW)


@pytest.mark.parametrize(
    ("model", "input_price"),
    [
        ("gpt-4o-2024-05-13", 5.0),  # a dated name with a price of its own
        ("gpt-4o-2024-08-06", 2.5),
        ("claude-opus-4-8", 5.0),
        ("claude-opus-4-8-fast", 10.0),
        ("glm-5.3", 1.4),
        ("zhipuai/glm-5.3", 1.103),  # sold in China for another price
        ("qwen/qwen3-coder:free", 0.0),
    ],
)
def test_more_specific_name_has_its_own_price(model: str, input_price: float) -> None:
    found = BUILT_IN.find(model, NOW)
    assert found is not None
    assert found.input == input_price


@pytest.mark.parametrize(
    "model",
    [
        "",
        "not recorded",
        "<synthetic>",
        "sonnet",
        "claude-opus-9",
        "gpt-5.1-unheard-of",
        "gpt-5:free",
        "claude-opus-5-5:batch",
        "ollama/qwen3-coder",
        "gpt-5.1/" * 100_000,
        "[1m]" * 100_000,
    ],
    ids=lambda name: name[:30],
)
def test_unknown_model_has_no_price(model: str) -> None:
    assert cost(model, input=1) is None


def test_user_price_file_overrides_single_field(tmp_path: Path) -> None:
    """At every prompt size; all other fields stay."""
    path = price_file(tmp_path, '[models."Claude-Sonnet-*"]\ncache_read = 0.1\n')
    prices = load_prices(path)
    assert cost("claude-sonnet-4-5", prices=prices, cache_read=100_000) == pytest.approx(0.01)
    assert cost("claude-sonnet-4-5", prices=prices, cache_read=300_000) == pytest.approx(0.03)
    assert cost("claude-sonnet-4-5", prices=prices, input=100_000) == pytest.approx(0.3)
    assert cost("claude-haiku-4-5", prices=prices, cache_read=100_000) == pytest.approx(0.01)
    path = price_file(tmp_path, "[models.claude-haiku-4-5]\ncache_write_1h = 9\n")
    found = load_prices(path).find("claude-haiku-4-5-20251001", NOW)
    assert found is not None
    assert (found.cache_write, found.cache_write_1h) == (1.25, 9.0)


def test_missing_cache_prices_follow_from_other_fields(tmp_path: Path) -> None:
    text = "[models.mine]\ninput = 2\noutput = 8\n[models.other]\ninput = 1\noutput = 1\n"
    prices = load_prices(price_file(tmp_path, text + "cache_write = 3\n"))
    mine, other = prices.find("mine", NOW), prices.find("hub/other", NOW)
    assert mine is not None
    assert other is not None
    assert (mine.cache_read, mine.cache_write, mine.cache_write_1h) == (2, 2, 2)
    assert (other.cache_read, other.cache_write, other.cache_write_1h) == (1, 3, 3)


def test_exact_name_wins_over_longest_pattern_of_price_file(tmp_path: Path) -> None:
    rows = ("*", 1), ("my-*", 2), ("my-x", 3)
    text = "".join(f'[models."{name}"]\ninput = {n}\noutput = {n}\n' for name, n in rows)
    prices = load_prices(price_file(tmp_path, text))
    found = [prices.find(name, NOW) for name in ("my-x", "hub/my-x", "my-x-20260101", "my-y", "z")]
    assert [price and price.input for price in found] == [3, 3, 3, 2, 1]


def test_price_file_sets_price_of_local_model(tmp_path: Path) -> None:
    text = '[models."ollama/*"]\ninput = 0\noutput = 0\n'
    assert cost("ollama/qwen3", prices=load_prices(price_file(tmp_path, text)), input=5) == 0.0


def test_prices_are_read_from_json(tmp_path: Path) -> None:
    text = '{"models": {"m": {"input": 1, "output": 2.5}}}'
    prices = load_prices(price_file(tmp_path, text, "prices.json"))
    assert cost("m", prices=prices, input=1_000_000, output=2_000_000) == 6.0


def test_version_changes_with_price_file_and_not_without_reason(tmp_path: Path) -> None:
    path = price_file(tmp_path, "[models.m]\ninput = 1\noutput = 1\n")
    first = load_prices(path).version
    assert first == load_prices(path).version
    assert first != BUILT_IN.version
    price_file(tmp_path, "[models.m]\ninput = 1\noutput = 2\n")
    assert first != load_prices(path).version


def test_version_changes_with_built_in_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_prices("").version
    data = read_table_file().replace(b'"input":3,', b'"input":4,', 1)
    monkeypatch.setattr("cortext.features.usage.prices.read_table_file", lambda: data)
    assert load_prices("").version != before


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("none.toml", None, "no such file"),
        ("a.toml", "models = ", "not TOML"),
        ("a.json", "{", "not JSON"),
        ("a.json", "[]", "the table `models` is missing"),
        ("a.toml", "x = 1", "the table `models` is missing"),
        ("a.toml", "[models]\n[model.m]\ninput = 1", "`model` is unknown"),
        ("a.toml", "[models.m]\ninput = 1", "m needs `input` and `output`"),
        ("a.toml", '[models."m-*"]\ncache_read = 1', r"m-\* needs `input` and `output`"),
        ("a.toml", "[models.gpt-5]\ninput = -1\noutput = 1", "`input` of gpt-5 is not a number"),
        ("a.toml", "[models.m]\ninput = nan\noutput = 1", "`input` of m is not a number"),
        ("a.toml", "[models.m]\ninput = 1\noutput = '1'", "`output` of m is not a number"),
        ("a.toml", "[models.m]\ninput = 1\noutput = true", "`output` of m is not a number"),
        ("a.toml", "[models.gpt-5]\ncache_reads = 1", "gpt-5 has the unknown field `cache_reads`"),
        ("a.toml", "[models]\nm = true", "m needs a table"),
        ("a.toml", "[models.m]", "m needs a table"),
        ("a.toml", "[models.GPT-5]\ninput = 1\n[models.gpt-5]\ninput = 1", "gpt-5 is given twice"),
        ("a.toml", "x = '" + "y" * 1_000_000 + "'", "larger than"),
    ],
)
def test_invalid_price_file_is_named_with_reason_and_hint(
    name: str, text: str | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(CortextError, match=says) as caught:
        load_prices(str(path))
    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_every_built_in_model_is_found_under_its_exact_names() -> None:
    wrong = [
        name
        for model in list_prices(NOW)
        for name in model.names
        if not is_pattern(name) and BUILT_IN.find(name, NOW) != model.price
    ]
    assert wrong == []


def test_built_in_prices_are_small_and_dated() -> None:
    assert len(read_table_file()) < 150_000
    assert load_table().source.startswith("genai-prices ")
    assert load_table().date.isoformat() >= "2026-11-09"


def test_looking_up_a_price_imports_no_pricing_library() -> None:
    script = (
        "import sys; from cortext.features.usage.prices import load_prices;"
        "assert load_prices('').find('gpt-5', 0);"
        "assert not {'genai_prices', 'pydantic', 'httpx', 'httpx2', 'socket'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_built_in_prices_agree_with_genai_prices() -> None:
    """For every exact name of the makers' models, each kind of token, short and long prompts."""
    library = pytest.importorskip("genai_prices", reason="`make setup` installs genai-prices")
    wrong: list[str] = []
    compared = 0
    for model in load_table().models:
        if model.provider == "openrouter" or model.id.endswith("-fast"):
            continue
        for name in (each for each in model.names if not is_pattern(each) and "/" not in each):
            for tokens in (
                TokenUsage(1_000, 2_000, 3_000, 4_000, 5_000),
                TokenUsage(100_000, 2_000, 300_000, 200_000, 100_000),
            ):
                for at in (NOW, micros("2026-02-01T12:00")):
                    usage = library.Usage(
                        input_tokens=tokens.input
                        + tokens.cache_read
                        + tokens.cache_write
                        + tokens.cache_write_1h,
                        cache_read_tokens=tokens.cache_read,
                        cache_write_tokens=tokens.cache_write + tokens.cache_write_1h,
                        cache_write_1h_tokens=tokens.cache_write_1h,
                        output_tokens=tokens.output,
                    )
                    try:
                        expected = library.calc_price(
                            usage,
                            name,
                            provider_id=model.provider,
                            genai_request_timestamp=datetime.fromtimestamp(at / 1_000_000, UTC),
                        ).total_price
                    except LookupError:
                        continue  # a spelling that only cortext knows
                    compared += 1
                    if BUILT_IN.cost(name, tokens, at) != pytest.approx(float(expected)):
                        wrong.append(f"{name}: {BUILT_IN.cost(name, tokens, at)}, not {expected}")
    assert wrong == []
    assert compared > 1_000


def test_built_in_prices_are_those_of_pinned_genai_prices() -> None:
    pytest.importorskip("genai_prices", reason="`make setup` installs genai-prices")
    script = ROOT / "scripts/prices.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)


def test_hostile_model_name_is_looked_up_in_linear_time() -> None:
    assert len(spellings_of("xai." * 24 + "a" + "@" * 24)) < 1000
