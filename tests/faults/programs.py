"""Programs of other people, which keep what is said with our library: no command is typed."""

import asyncio
import os

from tests.faults.home import SERVED, Home, said

ADAPTED = "adapted-1"


def serve(home: Home) -> int:
    """A program that adds two messages to a conversation, and says so after each."""
    from cortext.errors import CortextError
    from cortext.service.stores.conversation_store_registry import open_store
    from cortext.service.stores.port import Message
    from cortext.stores.log import LogStore

    async def add() -> None:
        store = open_store(f"file:{home.root}/service", open_log=LogStore)
        for number in (4, 5):
            text = f"served said {number}"
            await store.add_message(SERVED, Message("user", text, id=f"served-{number}"))
            os.write(1, f"{text}\n".encode())
        await store.aclose()

    try:
        asyncio.run(add())
    except CortextError as error:
        os.write(2, f"error: {error}\n".encode())
        return 1
    return 0


def adapt(home: Home) -> int:
    """An agent of a framework, which keeps two messages of a new session, one after the other."""
    from cortext.adapters.session_log import SessionLog
    from cortext.errors import CortextError

    kept = SessionLog(None, "a-framework")
    try:
        for message in said(ADAPTED, 0, 1):
            kept.append(ADAPTED, [message], lambda: kept.new_session(ADAPTED))
            os.write(1, f"{message.content}\n".encode())
    except CortextError as error:
        os.write(2, f"error: {error}\n".encode())
        return 1
    finally:
        kept.close()
    return 0
