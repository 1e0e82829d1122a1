"""One turn: the agent is asked, its answer is shown as it comes, and both are kept."""

from __future__ import annotations

from cortext.cli.repl.answer_output import showing
from cortext.cli.repl.repl_state import Repl, has_person, tell, tell_error
from cortext.errors import CortextError, SessionStorageError
from cortext.features.spawn.run_agent import ECHO


def ask(repl: Repl, text: str) -> None:
    """Ask the agent. Nothing is kept of a turn that failed or was interrupted."""
    _take_turn(repl, text, retries="")


def ask_again(repl: Repl) -> None:
    """Ask what was asked last: for the first time, if there was no answer; else as if it had not
    been answered."""
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
        # Nobody answered, and a script has only the exit code.
        repl.failed = repl.failed or repl.runner.name == ECHO


def _keep(repl: Repl, asked: str, answer: str, tokens: int | None, retries: str) -> None:
    # A Ctrl+C that comes now stops nothing any more; a script is ended by it all the same.
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
    # The newline at the end is a program's, not the answer's.
    return "".join(pieces).removesuffix("\n"), turn.tokens
