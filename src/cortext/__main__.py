"""`python -m cortext`."""

import sys

from cortext.cli import main

sys.exit(main())
