"""`cortext search`: what people type, what comes near it, and what is said if nothing does."""

import json
import shutil
from pathlib import Path

import pytest

from cortext import SessionMessage
from tests.cli.search_workspace import Place, keep, place
from tests.command import begin, cortext

__all__ = ["place"]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["c++"], True),
        (["it's"], True),
        (["foo-bar"], True),
        (["src/a_b.py"], True),
        (["def", "f(x):"], True),
        (["日本"], True),
        (["décidé"], True),
        (["DECIDE"], True),
        (["decid*"], True),
        (['"foo', "bar"], True),
        (["bar foo"], True),
        (["bar foo", "c"], False),
        (["foo bar", "c"], True),
        (["nobody", "OR", "foo"], True),
        (["foo", "NOT", "bar"], False),
        (["--", "--decided"], True),
        (["-foo"], False),
        (["foo", "-bar"], False),
        (["foo", "-hippopotamus"], True),
        (["--", "-foo"], True),
        (["foo|nobody"], True),
        (["NEAR(foo bar)"], False),
        (["text:foo"], False),
        (["AND"], False),
        (['"'], False),
        (["*"], False),
        (["^"], False),
        ([""], False),
        (["\x1b[31m"], False),
        (["x" * 5000], False),
        (["\udcff"], False),
    ],
)
def test_search_accepts_any_query_text_without_error(
    place: Place, typed: list[str], found: bool
) -> None:
    """Nothing is an error; words are found as they are meant."""
    text = "日本語の設計 was decidé, c++ and it's foo-bar in src/a_b.py: def f(x): return; décidé"
    keep(place, "001-plan-a", SessionMessage("user", f"{text} decided decide"))
    done = cortext(place.root, "search", *typed, env=place.env)
    assert ("Traceback" in done.stderr, "unexpected" in done.stderr) == (False, False)
    assert done.returncode == (0 if found else 1), done.stderr
    assert ("001-plan-a" in done.stdout) == (
        found or done.stderr.startswith(("No conversation", "No message"))
    )


def test_search_suggests_similar_words_and_titles(place: Place) -> None:
    """A misspelt word, a title that is alike, and what has no word in it."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."))
    keep(
        place,
        "002-plan-b",
        SessionMessage("user", "The rhinoceros runs."),
        title="Crossing a river",
    )
    said_so = place.refused(1, "hipopotamus")
    assert said_so == (
        'No conversation contains "hipopotamus". Showing results for "hippopotamus".\n'
    )
    assert '"xyzzyx" was not found anywhere.' in place.refused(1, "xyzzyx")
    assert 'Showing results for "river"' in place.refused(1, "Crosing", "rivver")
    # Words that any title may have make none alike.
    for typed in (("the", "quokka", "on", "a", "tour"), ("https://quokka.example/a?b=c",)):
        assert "Crossing a river" not in place.refused(1, *typed)
    for nothing in ("'?!'", "AND", "\N{PARTY POPPER}"):
        assert place.refused(1, nothing).startswith("The query has no word to search for.\nhint: ")
    done = cortext(place.root, "search", "hipopotamus", "--json", env=place.env)
    assert [hit["id"] for hit in json.loads(done.stdout)] == ["001-plan-a"]


@pytest.mark.parametrize(
    "typed", ["ihppopotamus", "hppopotamus", "gippopotamus", "hhippopotamus", "hippopotmaus"]
)
def test_search_corrects_typo_at_any_position_of_word(place: Place, typed: str) -> None:
    """Wherever in a word it is, also in its first letters, the word is found out."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."))
    assert 'Showing results for "hippopotamus".' in place.refused(1, typed)


def test_search_never_suggests_words_of_replaced_title(place: Place) -> None:
    """A word of a title that was replaced is no longer anywhere, and is not proposed."""
    keep(place, "001-plan-a", SessionMessage("user", "It swims."), title="Hippopotamus")
    assert place.hits("hippopotamus")
    keep(place, "001-plan-a", SessionMessage("user", "It swims."), title="Rhinoceros")
    assert place.hits("rhinoceros")
    assert "did you mean" not in place.refused(1, "hipopotamus")
    assert '"hippopotamus" was not found anywhere' in place.refused(1, "hippopotamus")


def test_search_shortens_long_word_in_no_result_message(place: Place) -> None:
    """What was not found is said, and not all of it."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."))
    assert f'"{"a" * 80}…" was not found anywhere' in place.refused(1, "a" * 1500)


def test_search_names_option_that_excludes_all_results(place: Place) -> None:
    """It is named, whether it leaves no conversation at all or only not these words."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."), tags=["sea"])
    begin(place.root, "debug", "Other", "Nothing of it.")

    def why(*options: str) -> str:
        return place.refused(1, "hippopotamus", *options)

    assert why("--tool", "Claude") == "No results. There are results without --tool claude.\n"
    assert why("--type", "debug", "--role", "me") == (
        "No results. There are results without --type debug.\n"
    )
    assert why("--type", "debug", "--role", "assistant") == (
        "No results with these options together. There are results without them.\n"
    )
    assert why("--tag", "nope") == ("No results: no conversation matches --tag nope.\n")
    assert why("--tag", "nope", "--owner", "bob") == (
        "No results: no conversation matches any of these options: --tag nope, --owner bob.\n"
    )
    assert why("--branch", "main") == "No results. There are results without --branch main.\n"
    assert "--in shop (this folder does not exist)." in why("--in", "shop")
    assert "There are results without --until." in why("--until", "2020")


def test_search_shows_partial_matches_and_names_omitted_words(place: Place) -> None:
    keep(place, "001-plan-a", SessionMessage("user", "Decided: redis, for the sessions."))
    keep(place, "002-plan-b", SessionMessage("user", "Redis is a database."))
    done = cortext(place.root, "search", "what did we decide about redis?", env=place.env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("001-plan-a")
    done = cortext(place.root, "search", "did we decide redis or kafka", env=place.env)
    assert done.returncode == 1
    assert done.stderr == "No conversation has all words. Missing in the first result: kafka.\n"
    assert done.stdout.startswith("001-plan-a")


def test_search_says_that_no_message_has_the_quoted_phrase(place: Place) -> None:
    keep(place, "001-plan-a", SessionMessage("user", "The cache is never emptied."))
    done = cortext(place.root, "search", '"cache emptied"', env=place.env)
    assert done.returncode == 1
    reason = 'No message has the exact phrase "cache emptied".'
    assert done.stderr == f"{reason} The results have words of it.\n"
    assert "\n001-plan-a\t" in f"\n{done.stdout}"


def test_search_excludes_words_with_minus_or_not(place: Place) -> None:
    """By a minus or NOT; where that leaves nothing, or nothing else was typed, it is said."""
    keep(place, "001-plan-a", SessionMessage("user", "redis and memcached"))
    keep(place, "002-plan-b", SessionMessage("user", "redis alone"))
    for typed in (["redis", "-memcached", "-n", "1"], ["redis", "NOT", "memcached"]):
        assert [hit["id"] for hit in place.hits(*typed)] == ["002-plan-b"]
    reason = "No results: every match contains an excluded word: redis\n"
    assert place.refused(1, "memcached", "-redis") == reason
    assert place.refused(1, "memcached", "NOT", "redis") == reason
    assert place.refused(1, "NOT", "redis") == (
        "The query only excludes words: redis. Add a word to search for.\n"
    )
    done = cortext(place.root, "search", "alone OR NOT memcached", env=place.env)
    assert 'NOT "memcached" was ignored' in done.stderr
    assert ("002-plan-b" in done.stdout, "001-plan-a" in done.stdout) == (True, False)


def test_search_options_ignore_case_and_accept_relative_times(place: Place) -> None:
    """In any case, with the long name of an option, by what they call themselves; in times that
    agents can give too."""
    keep(place, "001-plan-a", SessionMessage("user", "The walrus."))
    for options in (["--role", "Me"], ["--role", "you"], ["--limit", "3"], ["--status", "PAUSED"]):
        given = ["--status", "active"] if options[1] == "PAUSED" else options
        assert len(place.hits("walrus", *given)) == 1
    for when in ("yesterday", "2 weeks ago", "2026-01", "1month", "3mo"):
        assert len(place.hits("walrus", "--since", when)) == 1
    assert "Did you mean `search`?" in cortext(place.root, "grep", "x", env=place.env).stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--since", "1d", "--until", "2d"], "--since is later than --until"),
        (["--since", "soon"], "'soon' is not a valid time"),
        (["--tool", "emacs"], "'emacs' is not one of"),
        (["--conversation", "nosuch-conversation"], "nosuch-conversation"),
        (["-n", "0"], "0 is too small; the smallest value is 1"),
        (["--bogus"], "No such option '--bogus'. Put words that look like options after `--`."),
        (["-name", "x"], "No such option '-name'. Put words that look like options after `--`"),
        (["-m"], "No such option '-m'. Put words that look like options after `--`."),
    ],
)
def test_search_rejects_invalid_options_without_output(
    place: Place, options: list[str], told: str
) -> None:
    """One sentence, and nothing on stdout."""
    done = cortext(place.root, "search", "walrus", *options, env=place.env)
    assert done.returncode in (2, 3)
    assert told in done.stderr
    assert ("Traceback" in done.stderr, done.stdout) == (False, "")


def test_search_reports_truncated_query_and_missing_workspace(place: Place, tmp_path: Path) -> None:
    """The end of a very long question, and a workspace that is gone."""
    keep(place, "001-plan-a", SessionMessage("user", "parser and more"))
    done = cortext(place.root, "search", "parser " * 40 + "nobody", env=place.env)
    assert (done.returncode, "Only its first 40 words" in done.stderr) == (0, True)
    gone = tmp_path / "gone"
    gone.mkdir()
    cortext(gone, "init", env=place.env)
    shutil.rmtree(gone)
    done = cortext(place.root, "search", "hippopotamus", env=place.env)
    assert done.returncode == 1
    assert "gone does not exist" in done.stderr
    assert "does not exist" not in cortext(place.root, "search", "parser", env=place.env).stderr
