"""One turn of the REPL: send a message to the agent, show the answer, and save both."""

from __future__ import annotations

from cortext.cli.repl.answer_output import showing
from cortext.cli.repl.repl_state import Repl, has_person, tell, tell_error
from cortext.errors import CortextError, SessionStorageError
from cortext.features.spawn.run_agent import ECHO


def ask(repl: Repl, text: str) -> None:
    """Send the user's message to the agent, show the answer, and save both.

    A failed turn prints the error and is not saved. An interrupted turn is not saved either.
    """
    _take_turn(repl, text, retries="")


def ask_again(repl: Repl) -> None:
    """Send the user's last message again.

    If the message was answered, the agent gets the conversation from before that message, without
    the old answer. Raises CortextError if the user has not sent a message yet.
    """
    if repl.unanswered:
        text, retries = repl.unanswered
    elif last := repl.session.last_asked():
        retries, text = last
    else:
        raise CortextError("nothing was asked yet")
    _take_turn(repl, text, retries=retries)


def _take_turn(repl: Repl, text: str, *, retries: str) -> None:
    repl.unanswered = text, retries
    repl.save_again()
    try:
        answer, tokens = _answer(repl, text, retries)
    except CortextError as error:
        repl.failed = True
        tell_error(error)
    else:
        _keep(repl, text, answer, tokens, retries)
        # The echo is not an answer, and a script sees that only in the exit code.
        repl.failed = repl.failed or repl.runner.name == ECHO


def _keep(repl: Repl, asked: str, answer: str, tokens: int | None, retries: str) -> None:
    # The answer is complete, so Ctrl+C has nothing to stop. It still ends a script, after the save.
    with repl.signals.hold(interrupts=not has_person()):
        try:
            repl.session.keep(asked, answer, asked_at=repl.typed_at, tokens=tokens, retries=retries)
            repl.warned = False
        except SessionStorageError as error:
            repl.tell_unsaved(error)
        repl.unanswered = None


def _answer(repl: Repl, text: str, retries: str) -> tuple[str, int | None]:
    context = repl.session.context
    if retries:
        context = context.before(retries)
    prompt = context.prompt(text, repl.agent.prompt)
    for note in prompt.notes:
        tell(note)
    pieces: list[str] = []
    with (
        showing(repl.runner.name) as shown,
        repl.runner.start(prompt.text, cwd=repl.cwd, message=text) as turn,
    ):
        for piece in turn:
            pieces.append(piece)
            shown.write(piece)
        shown.end()
    if turn.remark:
        tell(f"note: {turn.remark}")
    # Programs end their output with a newline that is not part of the answer.
    return "".join(pieces).removesuffix("\n"), turn.tokens
