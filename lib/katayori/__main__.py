"""`python -m katayori <command>`."""

import sys

from katayori.run.cli import main

if __name__ == "__main__":  # the runner's worker processes import this module too
    sys.exit(main())
