"""A machine on which somebody worked for a year: what the pages show in tests and in pictures."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cortext import Session, SessionMessage, open_session_store
from cortext.workspace.known_folders import remember_workspace
from cortext.workspace.workspace import Workspace

TOPICS = [
    ("debug", "Checkout fails for carts with a gift card", ["payments", "urgent"]),
    ("plan", "Move image resizing out of the request", ["performance"]),
    ("brainstorm", "REST or GraphQL for the partner API", ["api"]),
    ("debug", "Flaky test in the invoice importer", ["tests"]),
    ("learn", "How the write-ahead log of SQLite works", []),
    ("plan", "Retire the old customer table", ["database"]),
    ("brainstorm", "Names for the reporting service", []),
    ("debug", "Memory grows in the nightly export", ["performance"]),
]
SUMMARIES = [
    "The rounding happens before the card is applied; a test shows it. It is not deployed.",
    "",
    "REST for the three partners that we have, with opaque cursors. Versioning is open.",
    "",
]
MODELS = ["claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-pro"]
TOOLS = ["claude", "codex", "gemini", "opencode"]


def workspace(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    Workspace.init(folder)
    remember_workspace(str(folder))
    return str(folder)


def keep(root: str, session: Session) -> Path:
    """Save a conversation; its folder."""
    open_session_store(f"workspace:{root}").save(session)
    (found,) = Path(root).glob(f"conversations/*/{session.id}")
    return found


def conversation(id: str, when: datetime, texts: list[tuple[str, str]], **head: Any) -> Session:
    messages = [
        SessionMessage(role, text, timestamp=when + timedelta(seconds=40 * n))  # pyright: ignore[reportArgumentType]
        for n, (role, text) in enumerate(texts)
    ]
    end = messages[-1].timestamp if messages else when
    return Session(id, created_at=when, updated_at=end, messages=messages, **head)


def year(root: str, *, days: int = 330, seed: int = 7) -> None:
    """Conversations on most working days, more of them lately."""
    chance = random.Random(seed)
    now = datetime.now(UTC).replace(minute=12, second=0, microsecond=0)
    for ago in range(days, 0, -1):
        day = now - timedelta(days=ago)
        if (day.weekday() > 4 and chance.random() < 0.8) or chance.random() < ago / 500:
            continue
        for n in range(1, chance.randint(1, 3) + 1):
            kind, title, tags = chance.choice(TOPICS)
            when = day.replace(hour=chance.choice([9, 10, 10, 11, 13, 14, 15, 15, 16, 20]))
            said = [("user", title), ("assistant", "Let me look.")] * chance.randint(1, 14)
            tool = chance.choice(TOOLS)
            session = conversation(
                *(f"{n:03}-{kind}-{title.split()[0].lower()}-{ago}", when, said),
                title=title,
                kind=kind,
                tags=tags,
                status="completed" if ago > 20 else "paused",
                summary=chance.choice(SUMMARIES),
                model=chance.choice(MODELS),
                native=[{"tool": tool, "session_id": f"{ago}-{n}"}],
                total_prompt_tokens=chance.randint(2_000, 90_000),
                total_completion_tokens=chance.randint(300, 9_000),
                metadata={"cost_usd": round(chance.random() * 0.9, 3)},
            )
            keep(root, session)


DIAGNOSIS = """\
The total is rounded **before** the gift card is applied, so a cart of three items can be off by one
cent, and the payment provider refuses it.

```python
def total(cart: Cart, card: GiftCard | None) -> Decimal:
    amount = sum(item.price * item.count for item in cart)  # exact
    if card is not None:
        amount -= min(card.balance, amount)
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)
```

Three things follow from it:

1. `Cart.total` must not round; only `Order` does.
2. The [rounding rules of the provider](https://example.com/rounding) say *half even*.
3. Old orders stay as they are.

| cart | before | after |
|---|---:|---:|
| 3 × 9.99, card 10.00 | 19.98 | 19.97 |
| 1 × 0.335 | 0.34 | 0.34 |

Shall I write the test first?
"""


def checkout(root: str) -> Path:
    """The conversation of the pictures; it is going on."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=4)

    def said(role: Any, text: str, after: int, **more: Any) -> SessionMessage:
        return SessionMessage(role, text, timestamp=at + timedelta(seconds=after), **more)

    def call(id: str, name: str, **given: Any) -> dict[str, Any]:
        return {"id": id, "name": name, "arguments": given}

    grep = call("t1", "Grep", pattern="quantize", path="shop/")
    read = call("t2", "Read", file_path="shop/cart.py")
    run = call("t3", "Bash", command="pytest tests/test_checkout.py -k gift_card")
    messages = [
        said(
            "user",
            "Checkout fails for some carts with a gift card: *amount mismatch*.\n\n"
            "It began on Monday. Can you find out why?",
            0,
        ),
        said("assistant", "I will look at how the total is made.", 9, tool_calls=[grep, read]),
        said(
            "tool",
            "shop/cart.py:41:    return amount.quantize(CENT)\n"
            "shop/order.py:88:    total = total.quantize(CENT)",
            11,
            tool_call_id="t1",
        ),
        said(
            "tool",
            "def total(cart):\n    amount = sum(item.price * item.count for item in cart)\n"
            "    return amount.quantize(CENT)\n",
            12,
            tool_call_id="t2",
        ),
        said("assistant", DIAGNOSIS, 48, tokens=1240),
        said("user", "Yes, the test first. And keep `Cart.total` as it is called everywhere.", 160),
        said("assistant", "", 171, tool_calls=[run]),
        said("tool", "1 failed, 14 passed in 0.82s\nExit code: 1", 176, tool_call_id="t3"),
        said("assistant", "The test fails for the right reason: `19.98 != 19.97`.", 190),
    ]
    session = Session(
        "004-debug-checkout",
        title="Checkout fails for carts with a gift card",
        kind="debug",
        created_at=at,
        updated_at=messages[-1].timestamp,
        messages=messages,
        tags=["payments", "urgent"],
        status="active",
        model="claude-sonnet-4-5",
        summary="The rounding happens before the card is applied; a test shows it.",
        native=[{"tool": "claude", "session_id": "5f0c"}],
        total_prompt_tokens=48_210,
        total_completion_tokens=3_904,
    )
    return keep(root, session)


def long(root: str, count: int = 10_000) -> Path:
    """A conversation of very many messages."""
    at = datetime.now(UTC) - timedelta(days=9)
    said = [
        ("user" if n % 2 else "assistant", f"Message number {n}: **bold {n}** and `code {n}`.")
        for n in range(1, count + 1)
    ]
    session = conversation(
        "009-plan-long", at, said, title="A very long story", kind="plan", status="paused"
    )
    return keep(root, session)
