"""Conversation stores for chat programs: only the last messages, and idle conversations expire.

`port.py` is the contract of a store, and `open_by_url.py` maps URLs to stores. Each store is one
module or package. Code that all stores share is in `base.py`, `conversation_summary.py` and
`ordinal_references.py`. `adapter.py` completes a class that has only the five methods of the port.
"""
