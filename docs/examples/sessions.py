"""Two finished sessions in ./sessions, with fixed ids and times, for the pages that list them."""

from datetime import UTC, datetime, timedelta

from cortext import Session, SessionMessage, SessionStorage

START = datetime(2026, 1, 12, 9, 30, tzinfo=UTC)


def conversation(id: str, title: str, start: datetime, *texts: str) -> Session:
    """A session in which the two sides take turns, a minute apart."""
    messages = [
        SessionMessage(
            "assistant" if number % 2 else "user",
            text,
            start + timedelta(minutes=number),
            f"{id}-{number + 1}",
        )
        for number, text in enumerate(texts)
    ]
    session = Session(id, title=title, created_at=start, messages=messages)
    session.updated_at = messages[-1].timestamp
    return session


API = conversation(
    "api-style",
    "REST or GraphQL",
    START,
    "REST or GraphQL for our internal APIs?",
    "Three callers, all inside: start with REST.",
)
RACE = conversation(
    "token-race",
    "Token refresh race",
    START - timedelta(days=1),
    "Two tabs refresh the token at once, and one is logged out.",
    "Let the first one refresh, and the other wait for it.",
    "How do they find out about each other?",
)

if __name__ == "__main__":
    storage = SessionStorage("sessions")
    storage.save(API)
    storage.save(RACE)
