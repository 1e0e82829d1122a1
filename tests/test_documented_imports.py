"""Every import that a released documentation shows keeps working."""

from importlib import import_module

import pytest

SHOWN_IN_0_1_0 = [
    "cortext.app.copy:copy_sessions",
    "cortext.asgi:create_app",
    "cortext.client:AsyncClient",
    "cortext.client:Client",
    "cortext.conversations.adapter:adapt_store",
    "cortext.conversations.base:Conversations",
    "cortext.conversations.events:Subscription",
    "cortext.conversations.file:FileConversationStore",
    "cortext.conversations.port:ConversationSummary",
    "cortext.conversations.redis_link:ReplicationError",
    "cortext.conversations.references:Reference",
    "cortext.conversations.summaries:register_type",
    "cortext.errors:CheckpointTypeError",
    "cortext.errors:SessionOwnerError",
    "cortext.formats:service",
    "cortext.stores.log:LogStore",
    "cortext.stores.port:SessionStore",
    "cortext.testing:SessionStoreSuite",
]
"""Adapters are imported beside their frameworks, by the tests of each."""


@pytest.mark.parametrize("shown", SHOWN_IN_0_1_0)
def test_import_shown_in_documentation_of_0_1_0_works(shown: str) -> None:
    module, _, name = shown.partition(":")
    found = import_module(module)
    assert hasattr(found, name) or import_module(f"{module}.{name}")
