# SPDX-License-Identifier: Apache-2.0
"""What the test programs share. record_tap.py finds it by PYTHONPATH, which is no business of what they start."""
import os

os.environ.pop("PYTHONPATH", None)
