"""`python -m workkit` is the command line."""

import sys

from workkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
