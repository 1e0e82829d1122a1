"""A run that waits before anything was said."""

from pathlib import Path

from cortext.adapters.openai_agents import CortextSession
from cortext.adapters.session_log import SessionLog
from cortext.workspace.known_folders import program_folders


def test_pending_run_without_messages_creates_listed_session(tmp_path: Path) -> None:
    """It begins the session as the first message would: lists know where it is."""
    session = CortextSession("s", tmp_path / "mine")
    session._set_pending({"state": {}})
    assert str(tmp_path / "mine") in program_folders()
    assert [row.waits for row in SessionLog(tmp_path / "mine", "openai-agents").rows()] == [True]
