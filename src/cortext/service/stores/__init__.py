"""Conversation stores for chat programs.

A store returns only the last messages of a conversation, and idle conversations can expire.

`port.py` is the contract of a store, and `open_by_url.py` maps URLs to stores. Each store is one
module or package. Code that all stores share is in `base.py`, `routing_summary.py` and
`ordinal_references.py`. `custom_store_adapter.py` adds the missing methods to a class that has only
the five methods of the contract.
"""
