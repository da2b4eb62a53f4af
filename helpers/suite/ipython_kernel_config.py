"""What a kernel of this environment begins with: installed as ``etc/ipython/`` (pyproject.toml)."""

import logging
import sys
from importlib.util import find_spec
from pathlib import Path

# a `helpers.py` of the reader's, where the kernel is started, does not stand before the package
if not Path("helpers/suite").is_dir():
    sys.path.insert(0, str(Path(find_spec("helpers").origin).parents[1]))
# kernels listen on this machine only, behind a key, so that they are not encrypted is no news
logging.getLogger("IPKernelApp").addFilter(lambda said: "without encryption" not in str(said.msg))
