"""Run the command line: `python -m workkit`."""

import sys

from workkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
