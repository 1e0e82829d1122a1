"""No test here sends a trace anywhere."""

import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
