"""One turn: the agent is asked, its answer is shown as it comes, and both are kept."""

from __future__ import annotations

from cortext.cli.repl.state import Repl, tell, tell_error
from cortext.cli.repl.writing import showing
from cortext.errors import CortextError, SessionStorageError


def ask(repl: Repl, text: str) -> None:
    """Ask the agent. Nothing is kept of a turn that failed or was interrupted."""
    _take_turn(repl, text, retries="")


def ask_again(repl: Repl) -> None:
    """Ask what was asked last, as if it had not been answered."""
    last = repl.session.last_asked()
    if last is None:
        raise CortextError("nothing was asked yet")
    id, text = last
    _take_turn(repl, text, retries=id)


def _take_turn(repl: Repl, text: str, *, retries: str) -> None:
    repl.save_again()
    try:
        answer, tokens = _answer(repl, text, retries)
    except CortextError as error:
        repl.failed = True
        tell_error(error)
    else:
        _keep(repl, text, answer, tokens, retries)


def _keep(repl: Repl, asked: str, answer: str, tokens: int | None, retries: str) -> None:
    before = repl.session.count
    repl.unsaved.append((asked, answer))
    try:
        with repl.signals.hold():
            repl.session.keep(asked, answer, tokens=tokens, retries=retries)
            repl.saved()
    except SessionStorageError as error:
        if repl.session.count > before:
            repl.saved()  # only its title is not
            tell_error(error)
        else:
            repl.tell_unsaved(error)


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
    # The newline at the end is a program's, not the answer's.
    return "".join(pieces).removesuffix("\n"), turn.tokens
