"""What another process does with a thread: `child.py WHAT PLACE ARGUMENTS...`."""

import os
import signal
import sys

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.scenes import Model, agent, call, on


def begin_and_crash(place: str) -> None:
    """Run until a tool takes the process down."""
    os.environ["CRASH"] = "1"
    model = Model(lines=[call("crash", "c1", key="x")])
    graph = agent(CortextSaver(place), model)
    # By default LangGraph goes on while the last step is still being saved.
    graph.invoke({"messages": [("user", "do it")]}, on("t"), durability="sync")


def wait_and_crash(place: str) -> None:
    """Run until a person is asked, and end there."""
    model = Model(lines=[call("pay", "c1", amount=7)])
    agent(CortextSaver(place), model).invoke({"messages": [("user", "pay")]}, on("t"))
    os.kill(os.getpid(), signal.SIGKILL)


def agree(place: str) -> None:
    """Say yes to what an earlier process asked."""
    from langgraph.types import Command

    made = agent(CortextSaver(place), Model()).invoke(Command(resume="yes"), on("t"))
    print(made["messages"][2].content)


def write_until_killed(place: str) -> None:
    """Add messages, and say each that is acknowledged."""
    graph = agent(CortextSaver(place), Model())
    for number in range(100_000):
        graph.update_state(on("t"), {"messages": [("user", str(number))]}, as_node="model")
        print(number, flush=True)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    globals()[what](*arguments)
