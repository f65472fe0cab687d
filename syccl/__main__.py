"""``python -m syccl`` is the same as ``syccl``."""

import sys

from syccl.cli.main import main

sys.exit(main())
