"""One turn of the REPL: send a message to the agent, show the answer, and save both."""

from __future__ import annotations

from cortext.cli.repl.answer_output import showing
from cortext.cli.repl.repl_state import Repl, is_interactive, tell, tell_error
from cortext.errors import CortextError, SessionStorageError
from cortext.features.spawn.run_agent import ECHO


def ask(repl: Repl, text: str) -> None:
    """Send the user's message to the agent, show the answer, and save both.

    If the agent fails, print the error and save nothing. If the user interrupts the agent, save
    nothing.
    """
    _take_turn(repl, text, retries="")


def ask_again(repl: Repl) -> None:
    """Send the user's last message to the agent again.

    The agent does not see the old answer. Raises CortextError if the user has not sent a message
    yet.
    """
    if repl.unanswered:
        text, retries = repl.unanswered
    elif last := repl.session.last_asked():
        retries, text = last
    else:
        raise CortextError("there is no message to send again")
    _take_turn(repl, text, retries=retries)


def _take_turn(repl: Repl, text: str, *, retries: str) -> None:
    repl.unanswered = text, retries
    repl.save_again()
    try:
        answer, tokens = _get_answer(repl, text, retries)
    except CortextError as error:
        repl.failed = True
        tell_error(error)
    else:
        _save_turn(repl, text, answer, tokens, retries)
        # Without a tool, ECHO only repeats the message. Only the exit code tells that to a script.
        repl.failed = repl.failed or repl.runner.name == ECHO


def _save_turn(repl: Repl, question: str, answer: str, tokens: int | None, retries: str) -> None:
    # The answer is complete, so Ctrl+C has nothing to stop. In a script, it takes effect after the
    # save.
    with repl.signals.hold(interrupts=not is_interactive()):
        try:
            repl.session.keep(
                question, answer, asked_at=repl.typed_at, tokens=tokens, retries=retries
            )
            repl.warned = False
        except SessionStorageError as error:
            repl.tell_unsaved(error)
        repl.unanswered = None


def _get_answer(repl: Repl, text: str, retries: str) -> tuple[str, int | None]:
    context = repl.session.context
    if retries:
        context = context.before(retries)
    prompt = context.prompt(text, repl.agent.prompt)
    for note in prompt.notes:
        tell(note)
    pieces: list[str] = []
    with (
        showing(repl.runner.name) as display,
        repl.runner.start(prompt.text, cwd=repl.cwd, message=text) as turn,
    ):
        for piece in turn:
            pieces.append(piece)
            display.write(piece)
        display.end()
    if turn.remark:
        tell(f"note: {turn.remark}")
    # Programs end their output with a newline that is not part of the answer.
    return "".join(pieces).removesuffix("\n"), turn.tokens
