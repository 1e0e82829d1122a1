"""The sentences of the tour that `cortext demo` shows."""

from cortext.features.setup.demo_tour import describe_kill


def test_tour_explains_stored_message_that_was_not_acknowledged() -> None:
    first, why = describe_kill(51, 52)
    assert first == "`append` returned for 51 messages; 52 are in the file: nothing is lost"
    assert "killed before it knew" in why


def test_tour_explains_nothing_if_counts_are_equal() -> None:
    assert describe_kill(50, 50) == [
        "`append` returned for 50 messages; 50 are in the file: nothing is lost"
    ]


def test_tour_reports_lost_messages_as_bug() -> None:
    [only] = describe_kill(50, 49)
    assert only.endswith("messages are lost; this is a bug")
