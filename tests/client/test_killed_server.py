"""A real `cortext serve` that is killed and started again under its clients."""

import signal
import threading
from contextlib import ExitStack
from pathlib import Path

from cortext import Message
from cortext.client import Client
from tests.service.http.serve_command import PATIENCE, served


def test_killed_server_loses_and_repeats_no_message_or_event(tmp_path: Path) -> None:
    """One who adds and one who follows notice nothing but a pause: every message is there, and
    was heard, once and in order."""
    wanted = [str(number) for number in range(60)]
    heard: list[str] = []
    args = ("--store", "file:kept", "--window", "1000")
    with ExitStack() as stack:
        server = stack.enter_context(served(tmp_path, *args))
        client = stack.enter_context(Client(server.url, server.token, timeout=3 * PATIENCE))
        id = client.create()

        def follow() -> None:
            for event in client.events(id, after=""):
                assert event.message is not None
                heard.append(event.message.content)
                if len(heard) == len(wanted):
                    return

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()

        def add() -> None:
            for text in wanted:
                client.add_message(id, Message("user", text))

        adder = threading.Thread(target=add, daemon=True)
        adder.start()
        for _ in range(2):
            adder.join(0.1)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(PATIENCE)
            server = stack.enter_context(served(tmp_path, *args, port=server.port))
        adder.join(2 * PATIENCE)
        follower.join(PATIENCE)
        assert [message.content for message in client.get_history(id)] == wanted
        assert heard == wanted
