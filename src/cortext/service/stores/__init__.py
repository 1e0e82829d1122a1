"""Bounded, expiring conversations for programs that talk with people: the stores of the service.

`port.py` is the contract, and `open_by_url.py` maps URLs to stores. Each store is one module. Code
that all stores share, and that needs only the port, is in `base.py`, `conversation_summary.py` and
`ordinal_references.py`. `adapter.py` adapts a class that has only the five methods of the port.
"""
