"""List what is read wrongly and what is refused: `python -m tests.triggers.oracle [FAMILY ...]`."""

import sys

from tests.triggers.oracle.judged import main

sys.exit(main(sys.argv[1:]))
