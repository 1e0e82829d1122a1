"""`cortext search`: what people type, what comes near it, and what is said if nothing does."""

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
def test_anything_can_be_typed(place: Place, typed: list[str], found: bool) -> None:
    """Nothing is an error; words are found as they are meant."""
    text = "日本語の設計 was decidé, c++ and it's foo-bar in src/a_b.py: def f(x): return; décidé"
    keep(place, "001-plan-a", SessionMessage("user", f"{text} decided decide"))
    done = cortext(place.root, "search", *typed, env=place.env)
    assert ("Traceback" in done.stderr, "unexpected" in done.stderr) == (False, False)
    assert done.returncode == (0 if found else 1), done.stderr
    assert ("001-plan-a" in done.stdout) == (found or done.stderr.startswith("no message has"))


def test_did_you_mean(place: Place) -> None:
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
        'nothing was found\n"hipopotamus" was not found anywhere; did you mean "hippopotamus"?\n'
    )
    assert "only a part is searched" in place.refused(1, "xyzzyx")
    assert "did you mean 002-plan-b: Crossing a river" in place.refused(1, "Crosing", "rivver")
    # Words that any title may have make none alike.
    for typed in (("the", "quokka", "on", "a", "tour"), ("https://quokka.example/a?b=c",)):
        assert "Crossing a river" not in place.refused(1, *typed)
    for nothing in ("'?!'", "AND", "\N{PARTY POPPER}"):
        assert place.refused(1, nothing) == "there is no word to look for\n"
    assert place.hits("hipopotamus") == []


@pytest.mark.parametrize(
    "typed", ["ihppopotamus", "hppopotamus", "gippopotamus", "hhippopotamus", "hippopotmaus"]
)
def test_a_slip_of_the_finger(place: Place, typed: str) -> None:
    """Wherever in a word it is, also in its first letters, the word is found out."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."))
    assert 'did you mean "hippopotamus"?' in place.refused(1, typed)


def test_words_that_are_gone_are_not_meant(place: Place) -> None:
    """A word of a title that was replaced is no longer anywhere, and is not proposed."""
    keep(place, "001-plan-a", SessionMessage("user", "It swims."), title="Hippopotamus")
    assert place.hits("hippopotamus")
    keep(place, "001-plan-a", SessionMessage("user", "It swims."), title="Rhinoceros")
    assert place.hits("rhinoceros")
    assert "did you mean" not in place.refused(1, "hipopotamus")
    assert '"hippopotamus" was not found anywhere' in place.refused(1, "hippopotamus")


def test_a_word_too_long_to_be_told(place: Place) -> None:
    """What was not found is said, and not all of it."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."))
    assert f'"{"a" * 80}…" was not found anywhere' in place.refused(1, "a" * 1500)


def test_which_option_left_nothing(place: Place) -> None:
    """It is named, whether it leaves no conversation at all or only not these words."""
    keep(place, "001-plan-a", SessionMessage("user", "The hippopotamus swims."), tags=["sea"])
    begin(place.root, "debug", "Other", "Nothing of it.")

    def why(*options: str) -> str:
        return place.refused(1, "hippopotamus", *options)

    assert (
        why("--tool", "Claude") == "nothing was found; without --tool claude there is something\n"
    )
    assert why("--type", "debug", "--role", "me") == (
        "nothing was found; without --type debug there is something\n"
    )
    assert why("--type", "debug", "--role", "assistant") == (
        "nothing was found with these options together; without them there is something\n"
    )
    assert why("--tag", "nope") == (
        "nothing was found: with --tag nope there is no conversation at all\n"
    )
    assert "/space/shop (there is no such folder) there is no" in why("--in", "shop")
    assert "without --until there is something" in why("--until", "2020")


def test_what_comes_near(place: Place) -> None:
    """A sentence finds what it is about, and says which words it went without; the exit code says
    that nothing has it all, and programs get nothing."""
    keep(place, "001-plan-a", SessionMessage("user", "Decided: redis, for the sessions."))
    keep(place, "002-plan-b", SessionMessage("user", "Redis is a database."))
    done = cortext(place.root, "search", "what did we decide about redis?", env=place.env)
    assert done.returncode == 1
    assert done.stderr == ("no message has all of these words; without: what, did, we, about\n")
    assert ("Decided: redis" in done.stdout, "database" in done.stdout) == (True, False)
    assert place.hits("what", "did", "we", "decide", "about", "redis") == []


def test_what_is_excluded(place: Place) -> None:
    """By a minus or NOT; where that leaves nothing, or nothing else was typed, it is said."""
    keep(place, "001-plan-a", SessionMessage("user", "redis and memcached"))
    keep(place, "002-plan-b", SessionMessage("user", "redis alone"))
    for typed in (["redis", "-memcached", "-n", "1"], ["redis", "NOT", "memcached"]):
        assert [hit["id"] for hit in place.hits(*typed)] == ["002-plan-b"]
    assert "have what you exclude too: redis" in place.refused(1, "memcached", "-redis")
    assert place.refused(1, "NOT", "redis") == (
        "there is no word to look for: redis is only excluded\n"
    )
    done = cortext(place.root, "search", "alone OR NOT memcached", env=place.env)
    assert 'NOT "memcached" is left out' in done.stderr
    assert ("002-plan-b" in done.stdout, "001-plan-a" in done.stdout) == (True, False)


def test_people_type_it_otherwise(place: Place) -> None:
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
        (["--since", "1d", "--until", "2d"], "--since is after --until"),
        (["--since", "soon"], "'soon' is no time"),
        (["--tool", "emacs"], "'emacs' is not one of"),
        (["--conversation", "nosuch-conversation"], "nosuch-conversation"),
        (["-n", "0"], "0 is not in the range"),
        (["--bogus"], "No such option '--bogus': words that look like options go after `--`."),
        (["-name", "x"], "No such option '-name': words that look like options go after `--`"),
        (["-m"], "No such option '-m': words that look like options go after `--`."),
    ],
)
def test_what_makes_no_sense(place: Place, options: list[str], told: str) -> None:
    """One sentence, and nothing on stdout."""
    done = cortext(place.root, "search", "walrus", *options, env=place.env)
    assert done.returncode in (2, 3)
    assert told in done.stderr
    assert ("Traceback" in done.stderr, done.stdout) == (False, "")


def test_what_was_not_looked_at_is_said(place: Place, tmp_path: Path) -> None:
    """The end of a very long question, and a workspace that is gone."""
    keep(place, "001-plan-a", SessionMessage("user", "parser and more"))
    done = cortext(place.root, "search", "parser " * 40 + "nobody", env=place.env)
    assert (done.returncode, "only the first words" in done.stderr) == (0, True)
    gone = tmp_path / "gone"
    gone.mkdir()
    cortext(gone, "init", env=place.env)
    shutil.rmtree(gone)
    done = cortext(place.root, "search", "hippopotamus", env=place.env)
    assert done.returncode == 1
    assert "gone is not there now" in done.stderr
    assert "not there now" not in cortext(place.root, "search", "parser", env=place.env).stderr
