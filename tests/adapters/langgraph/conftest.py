"""No test here traces anything."""

import os

os.environ["LANGSMITH_TRACING"] = "false"
