"""Bounded, expiring conversations for programs that talk with people: the stores of the service.

`port.py` is the contract, `open_by_url.py` maps URLs to stores. A store is one module; what all
of them share, with nothing but the port, is in `base.py`, `conversation_summary.py` and
`reference_resolution.py`. `adapter.py` serves a class that has only the five methods of the port.
"""
