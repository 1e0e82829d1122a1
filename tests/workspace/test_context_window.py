"""What an agent is given of a long conversation."""

from hypothesis import given
from hypothesis import strategies as st

from cortext import SessionMessage
from cortext.formats.history_text import Left, Past, parse_history
from cortext.workspace.context_window import FIRST, LAST, RETRIES, ContextWindow


def exchange(context: ContextWindow, number: int, size: int = 40) -> tuple[SessionMessage, ...]:
    """A question and its answer, of so many characters each."""
    texts = f"question {number} ".ljust(size, "q"), f"answer {number} ".ljust(size, "a")
    turns = SessionMessage("user", texts[0]), SessionMessage("assistant", texts[1])
    for turn in turns:
        context.add(turn)
    return turns


def past_of(prompt: str) -> list[Past | Left]:
    """The history in a prompt."""
    start = prompt.index("[HISTORY ")
    nonce = prompt[start:].split()[1].rstrip("]")
    end = prompt.index(f"[END HISTORY {nonce}]") + len(f"[END HISTORY {nonce}]")
    return parse_history(prompt[start:end], nonce)


def test_first_prompt_is_message_unchanged() -> None:
    """With nothing said before and no system prompt, the agent gets the message as it is."""
    assert ContextWindow().prompt("hello\nthere") == ("hello\nthere", [])


def test_prompt_orders_system_prompt_then_history_then_message() -> None:
    """In this order, and it ends with the message."""
    context = ContextWindow()
    question, answer = exchange(context, 1)
    prompt, notes = context.prompt("and now?", "You test things.")
    assert prompt.startswith("You test things.\n\n[HISTORY ")
    assert prompt.endswith("\n\nand now?")
    assert notes == []
    assert [turn.text for turn in past_of(prompt)] == [question.content, answer.content]


def test_context_warns_at_80_and_90_percent_before_trimming_turns() -> None:
    """At 80 % it is said, at 90 % that trimming is next, and then it happens and is said."""
    context = ContextWindow(max_tokens=1000)
    told: list[str] = []
    sent: list[str] = []
    for number in range(60):
        prompt, notes = context.prompt("x" * 40)
        told += notes
        sent.append(prompt)
        exchange(context, number)
        if context.trimmed:
            break
    assert told[0].startswith("The context is 8")
    assert told[1].startswith("The context is 9")
    assert "older turns will be left out" in told[1]
    assert f"the first {FIRST} and the last {LAST}" in told[2]
    history = past_of(sent[-1])
    assert len(history) == FIRST + 1 + LAST
    assert isinstance(history[FIRST], Left)
    assert history[0].text.startswith("question 0 ")
    assert history[-1].text.startswith(f"answer {len(sent) - 2} ")


def test_trimmed_context_fills_up_again() -> None:
    """After trimming, new turns are kept until it is full again."""
    context = ContextWindow(max_tokens=1000)
    for number in range(200):
        _, notes = context.prompt("x")
        assert len(notes) <= 1
        exchange(context, number)
        assert context.used <= context.max_tokens
    assert context.turns == 400


def test_prompt_gives_fewer_turns_when_turns_are_huge() -> None:
    """Where even the last ten do not fit, fewer are given, and never an error."""
    context = ContextWindow(max_tokens=1000)
    for number in range(10):
        exchange(context, number, size=800)
    prompt, notes = context.prompt("y" * 2000)
    assert prompt.endswith("y" * 2000)
    assert len(past_of(prompt)) < FIRST + LAST
    assert len(notes) == 1


def test_context_counts_reported_tokens_or_estimates() -> None:
    """A turn counts as many tokens as its tool reported; else a quarter of its characters."""
    context = ContextWindow(max_tokens=1000)
    context.add(SessionMessage("user", "x" * 400))
    context.add(SessionMessage("assistant", "short", tokens=500))
    assert (context.used, context.percent) == (600, 60)


def test_prompt_omits_retried_exchange() -> None:
    """What was asked again is given once, with its last answer."""
    context = ContextWindow()
    exchange(context, 1)
    asked, _ = exchange(context, 2)
    context.add(SessionMessage("user", asked.content, structured_data={RETRIES: asked.id}))
    context.add(SessionMessage("assistant", "a better answer"))
    texts = [turn.text for turn in past_of(context.prompt("next").text)]
    assert texts[2:] == [asked.content, "a better answer"]


def test_context_before_turn_excludes_turn_and_later_turns() -> None:
    """As it was when that turn was asked; the other stays as it is."""
    context = ContextWindow()
    exchange(context, 1)
    asked, _ = exchange(context, 2)
    before = context.before(asked.id)
    assert [turn.text[:8] for turn in past_of(before.prompt("again").text)] == [
        "question",
        "answer 1",
    ]
    assert (context.turns, context.before("unknown").turns, before.turns) == (4, 4, 2)
    assert before.used == context.used // 2


def test_cleared_context_adds_no_history_to_prompt() -> None:
    context = ContextWindow()
    exchange(context, 1)
    context.clear()
    assert context.prompt("hello") == ("hello", [])
    assert context.percent == 0


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(100, 2000))
def test_prompt_keeps_first_and_last_turns_of_any_conversation(sizes: list[int], most: int) -> None:
    """Whatever the turns are, the prompt ends with the message, keeps the first turns and the
    last, and says how many are left out."""
    context = ContextWindow(max_tokens=most)
    turns = [
        SessionMessage("assistant" if n % 2 else "user", f"{n} ".ljust(size, "x"))
        for n, size in enumerate(sizes)
    ]
    for turn in turns:
        context.add(turn)
    prompt, _ = context.prompt("the end")
    assert prompt.endswith("the end")
    if turns:
        history = past_of(prompt)
        shown = [each.text for each in history if isinstance(each, Past)]
        assert shown[:FIRST] == [turn.content for turn in turns[:FIRST]]
        assert shown[-1] == turns[-1].content
        assert len(shown) + context.trimmed == len(turns) == context.turns


@given(st.lists(st.lists(st.tuples(st.integers(0, 2000), st.booleans()), max_size=20), max_size=6))
def test_add_all_equals_adding_turns_one_by_one(blocks: list[list[tuple[int, bool]]]) -> None:
    """Whatever their sizes, and also where one of them asks an earlier one again."""
    together, apart = ContextWindow(max_tokens=1000), ContextWindow(max_tokens=1000)
    ids = ["0"]
    for block in blocks:
        turns: list[SessionMessage] = []
        for size, again in block:
            data = {RETRIES: ids[len(ids) // 2]} if again else None
            ids.append(str(len(ids)))
            text = "x" * size
            turns.append(SessionMessage("user", text, id=ids[-1], structured_data=data))
        together.add_all(turns)
        for turn in turns:
            apart.add(turn)
    assert list(together.kept()) == list(apart.kept())
    assert (together.used, together.trimmed) == (apart.used, apart.trimmed)
    assert together.prompt("and now?").notes == apart.prompt("and now?").notes
