"""Whether what is shown has the signs that were typed is said."""

from cortext import SessionMessage
from tests.cli.search_workspace import Place, keep, place
from tests.command import cortext

__all__ = ["place"]


def test_search_counts_hits_without_typed_punctuation(place: Place) -> None:
    """Where some, or all, have the words without their signs; and nothing of it where all do."""
    plain = [SessionMessage("user", f"vitamin c {n}") for n in range(2)]
    keep(place, "001-plan-a", SessionMessage("user", "we wrote it in c++"))
    keep(place, "002-plan-b", *plain)

    def said(typed: str) -> str:
        return cortext(place.root, "search", typed, env=place.env).stderr

    assert said("c++") == "2 results match only without the punctuation.\n"
    assert said("c#") == ("No exact match. The results match only without the punctuation.\n")
    assert said("vitamin") == ""


def test_search_json_marks_hits_with_exact_punctuation(place: Place) -> None:
    """Each hit says whether it has the signs, wherever it stands among the others."""
    keep(place, "001-plan-a", SessionMessage("user", "we wrote it in c++"))
    keep(place, "002-plan-b", SessionMessage("user", "vitamin c"))
    exact = {hit["id"]: hit["exact"] for hit in place.hits("c++")}
    assert exact == {"001-plan-a": True, "002-plan-b": False}
    assert [hit["exact"] for hit in place.hits("vitamin")] == [True]
