"""What another process does with a conversation: `child.py WHAT PLACE ARGUMENTS...`."""

import os
import signal
import sys

import llm
import sqlite_utils

from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.plugin import replace_log_to_db
from tests.adapters.llm.scenes import crash, look_up, model, pay


def begin_and_crash(place: str) -> None:
    """Talk until a tool takes the process down."""
    conversation = CortextLog(place).conversation("s", model(), tools=[crash, look_up])
    conversation.chain('call look_up {"key": "x"};call crash {"key": "y"}').text()


def wait_and_crash(place: str) -> None:
    """Talk until a decision is needed, keep that, and die."""
    log = CortextLog(place, owner="ada")
    conversation = log.conversation("s", model(), tools=[look_up, pay])
    try:
        conversation.chain('call look_up {"key": "x"};call pay {"amount": 3}').text()
    except llm.PauseChain as pause:
        conversation.wait(pause)
        os.kill(os.getpid(), signal.SIGKILL)


def write(place: str, name: str, count: str) -> None:
    """Say so many things, and say which were acknowledged."""
    conversation = CortextLog(place).conversation("shared", model())
    for number in range(int(count)):
        conversation.prompt(f"{name}-{number}").text()
        print(f"{name}-{number}", flush=True)


def log_as_llm_does(place: str, name: str, count: str) -> None:
    """The same by what llm logs with, the plug-in being there, all into one conversation."""
    replace_log_to_db()
    db = sqlite_utils.Database(place)
    for number in range(int(count)):
        conversation = llm.Conversation(model=model(), id="shared")
        response = conversation.prompt(f"{name}-{number}")
        response.text()
        response.log_to_db(db)
        print(f"{name}-{number}", flush=True)
    db.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
