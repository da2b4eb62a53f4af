"""What a kernel of this environment begins with: installed as ``etc/ipython/`` (pyproject.toml)."""

import logging
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

# A `helpers.py` of the reader's, where the kernel is started, does not stand before the package;
# where that is an installed wheel, only in an audit, for other notebooks mean their own.
package = find_spec("helpers")
audits = (
    "SUITE_AUDIT" in os.environ or not (Path(package.origin).parent / "share").is_dir()
)
if audits and not Path("helpers/suite").is_dir():
    find = lambda name, *_: package if name == "helpers" else None  # noqa: E731
    sys.meta_path.insert(0, SimpleNamespace(find_spec=find))
# kernels listen on this machine only, behind a key, so that they are not encrypted is no news
logging.getLogger("IPKernelApp").addFilter(
    lambda record: "without encryption" not in str(record.msg)
)
