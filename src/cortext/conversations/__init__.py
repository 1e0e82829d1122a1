"""Bounded, expiring conversations for programs that talk with people: the stores of the service.

`port.py` is the contract, `open.py` maps URLs to stores. A store is one module; what all of them
do alike, with nothing but the port, is in `base.py`, `summaries.py` and `references.py`.
`adapter.py` serves a class that has only the five methods of the port.
"""
