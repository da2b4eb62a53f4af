"""``python -m helpers audit TABLE ...``: the commands of the suite that need no notebook."""

import sys

from helpers.blocks import audit

if sys.argv[1:2] != ["audit"]:
    raise SystemExit("expected: python -m helpers audit TABLE [--help]")
audit.main(sys.argv[2:])
