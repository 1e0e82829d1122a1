"""Conversation stores for chat programs.

A store returns only the last messages of a conversation. Idle conversations can expire.

- `port.py` is the contract of a store.
- `conversation_store_registry.py` opens the store that a URL names.
- Each store is in its own module or package.
- `base.py`, `routing_summary.py` and `ordinal_references.py` have the code that all stores share.
- `custom_store_adapter.py` adds the missing methods to a class that has only the five methods of
  the contract.
"""
