"""The HTTP service for the conversations in a store.

- `application.py` assembles the ASGI application, and `http_server.py` runs it.
- `request_guard.py` decides which requests are allowed.
- `message_post_fast_path.py` handles the most frequent request, which adds a message.
- `routes.py` handles all other requests.
"""
