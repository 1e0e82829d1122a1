"""What was said in the conversation of the README."""

from cortext import SessionMessage, open_session_store

open_session_store("workspace:.").append(
    "002-brainstorm-api-design",
    SessionMessage("user", "REST or GraphQL for our internal APIs?"),
    SessionMessage("assistant", "Three callers, all inside: start with REST."),
    SessionMessage("user", "Agreed, REST. How do we version it?"),
)
