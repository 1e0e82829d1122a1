"""What was decided about a topic: recall and precision over conversations with labels.

A line of the set is a role, a text and, behind `=>`, the sentences of it that decide, if any do.
Cues and set are by one hand, so the figures are no measure of other people's talk; the last topics
decide in words of which no cue knew when they were written (then 2 of 15 were found). The cases of
`decisions_new.txt` were written before anybody looked at the cues: 3 of 29 were found then; with
cues made after the first half alone, 9 of the 15 in the other half were, and one that was none.
In `decisions_none.txt` somebody looks for a fault, and nothing is decided.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from cortext.features.search.decisions import decisions_in, get_decisions
from cortext.features.search.search_results import Finder
from cortext.model.message import SessionMessage
from tests.command import begin, ok, say

START = datetime(2026, 1, 1, tzinfo=UTC)


class Talk(NamedTuple):
    """A conversation: what it is about, its messages, and by number what each decides."""

    topic: str
    messages: list[SessionMessage]
    decided: set[tuple[int, str]]


@cache
def talks(name: str = "decisions.txt") -> list[Talk]:
    found: list[Talk] = []
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            found.append(Talk(line[3:], [], set()))
        elif line:
            role, _, rest = line.partition(": ")
            text, _, decided = rest.partition(" => ")
            messages = found[-1].messages
            when = START + timedelta(minutes=len(messages))
            content = text.replace("\\n", "\n")
            messages.append(
                SessionMessage("user" if role == "U" else "assistant", content, timestamp=when)
            )
            for sentence in filter(None, decided.split(" | ")):
                found[-1].decided.add((len(messages), sentence))
    return found


@pytest.mark.parametrize(
    ("name", "wanted", "recall", "precision"),
    [("decisions.txt", 52, 0.95, 0.95), ("decisions_new.txt", 29, 0.8, 0.95)],
)
def test_decisions_reach_recall_and_precision_on_labelled_sets(
    name: str, wanted: int, recall: float, precision: float
) -> None:
    """Over the labelled sets."""
    right = told = 0
    missed: list[str] = []
    wrong: list[str] = []
    for talk in talks(name):
        found = set(decisions_in(talk.messages))
        right, told = right + len(found & talk.decided), told + len(found)
        missed += [sentence for _, sentence in talk.decided - found]
        wrong += [sentence for _, sentence in found - talk.decided]
    print(f"recall {right}/{wanted}, precision {right}/{told}")
    print("missed:", *missed, sep="\n  ")
    print("wrong:", *wrong, sep="\n  ")
    assert sum(len(talk.decided) for talk in talks(name)) == wanted
    assert right / wanted >= recall
    assert right / told >= precision


def test_decisions_are_rare_in_conversation_without_decisions() -> None:
    """Answers to questions of fact, orders to the agent, and cues that mean something else."""
    (talk,) = talks("decisions_none.txt")
    assert len(talk.messages) > 30
    assert len(list(decisions_in(talk.messages))) <= 1


@pytest.fixture
def decision_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All conversations of the set, with all of their messages."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    ok(folder, "init")
    from cortext import open_session_store

    store = open_session_store(f"workspace:{folder}")
    for talk in talks():
        store.append(begin(folder, "brainstorm", talk.topic), *talk.messages)
    monkeypatch.chdir(folder)
    return folder


def test_first_ten_decisions_of_topic_reach_recall(decision_workspace: Path) -> None:
    """For each topic of the set the first ten hold at least 70 % of what was decided about it, over
    all topics, each with the id of its message."""
    from cortext.features.listing.session_of_row import read

    finder = Finder()
    finder.refresh()
    right = wanted = 0
    for talk in talks():
        found = get_decisions(
            talk.topic,
            finder.ranked_rows,
            lambda row: read(row)[0],
            most=10,
        )
        ids = {message.id for message in talk.messages}
        cited = {(each.number, each.sentence) for each in found if each.message_id in ids}
        right += len(cited & talk.decided)
        wanted += len(talk.decided)
        assert all(each.message_id for each in found)
    print(f"recall in the first ten: {right}/{wanted}")
    assert right / wanted >= 0.7


def test_decisions_of_topic_without_words_are_empty() -> None:
    assert get_decisions("?!", lambda text: [], lambda row: pytest.fail(row.key)) == []


def test_questions_and_abandoned_messages_are_no_decisions() -> None:
    """A question, something not decided yet, and a branch that was left."""
    said = [
        SessionMessage("user", "Should we go with Redis?"),
        SessionMessage("assistant", "We have not decided on Redis yet."),
        SessionMessage("user", "Let's use Redis.", extra={"abandoned": True}),
    ]
    assert list(decisions_in(said)) == []


def test_accepted_advice_is_cited_as_decision(decision_workspace: Path) -> None:
    """The advice is cited, where it was given."""
    id = begin(
        decision_workspace,
        "plan",
        "Deploys",
        "How?",
        "I'd suggest blue-green deploys.",
        "Yes, please.",
    )
    say(decision_workspace, id, "And the heron?", "I'd suggest a heron.", "No, not that.")
    from cortext import open_session_store

    messages = open_session_store(f"workspace:{decision_workspace}").load(id).messages
    assert list(decisions_in(messages)) == [(2, "I'd suggest blue-green deploys.")]
