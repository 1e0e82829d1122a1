"""The entry point of `python -m cortext`."""

import sys

from cortext.cli.main import main

sys.exit(main())
