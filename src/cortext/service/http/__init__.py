"""The HTTP service over a conversation store.

`application.py` puts it together, `guard.py` decides who may ask, `fast_post.py` answers the most
frequent request and `routes.py` the rest. `http_server.py` runs it.
"""
