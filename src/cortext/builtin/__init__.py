"""What we ship: the types of conversation, with their command texts and templates, and prices."""

TYPES = ("brainstorm", "debug", "plan", "learn", "meeting", "review")
