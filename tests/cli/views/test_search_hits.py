"""What stands with a hit: the command that opens it there, and whether it has the signs."""

import re

from cortext import SessionMessage
from tests.cli.search_workspace import Place, keep, place
from tests.command import begin, cortext, folder_of, ok
from tests.homes import said

__all__ = ["place"]


def test_search_line_has_values_of_at_that_open_matching_text(place: Place) -> None:
    """In a message, in a document, with a sub-agent."""
    id = begin(place.root, "plan", "Written", "An okapi is said.")
    path = folder_of(place.root, id) / "plan.md"
    path.write_text("# Written\n\nWe keep xylophones for the okapi.\n", encoding="utf-8")
    claude, _ = said("claude")
    beside = place.homes.transcript("claude").parent / claude / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-1.jsonl").write_text(
        f'{{"type":"user","sessionId":"{claude}","isSidechain":true,"uuid":"u1","parentUuid":null,'
        '"timestamp":"2026-01-05T12:00:00.000Z","cwd":"/","version":"2",'
        '"message":{"role":"user","content":"count the walruses"}}\n',
        encoding="utf-8",
    )
    for words, spots in (
        ("xylophones", ["document"]),
        ("okapi", ["1", "document"]),
        ("walruses", ["agents"]),
    ):
        name, found, *_ = place.search(words).split("\t")
        assert found.split(",") == spots
        commands = re.findall(r"cortext show \S+ --at (\w+)", place.page(words))
        assert commands == spots
        for spot in spots:
            assert words in ok(place.root, "show", name, "--at", spot, env=place.env)


def test_search_hit_says_when_punctuation_is_missing(place: Place) -> None:
    """Itself, wherever it stands."""
    keep(place, "001-plan-a", SessionMessage("user", "we wrote it in c++"))
    keep(place, "002-plan-b", SessionMessage("user", "vitamin c"), title="of c")
    keep(place, "003-plan-c", SessionMessage("user", "nothing"), title="letters: c")
    lines = place.search("c++").splitlines()
    loose = [line.rpartition("\t")[2] for line in lines if "without the punctuation" in line]
    assert len(loose) == 2
    assert loose[0].endswith("without the punctuation: vitamin c") or loose[1].endswith("vitamin c")
    assert "The title matches without the punctuation." in loose


def test_search_names_each_unknown_word_once(place: Place) -> None:
    """As it was typed, in any script, and the rest of the sentence once."""
    keep(place, "001-plan-a", SessionMessage("user", "we use redis"))
    told = place.refused(1, "when", "will", "we", "use", "kubernetes", "helm", "charts")
    assert told == 'No results.\n"kubernetes", "helm", "charts" were not found anywhere.\n'
    told = place.refused(1, "量子コンピュータ")
    assert told == 'No results.\n"量子コンピュータ" was not found anywhere.\n'
    done = cortext(place.root, "search", "redis", "量子コンピュータ", env=place.env)
    assert done.stderr == (
        "No conversation has all words. Missing in the first result: 量子コンピュータ.\n"
    )
