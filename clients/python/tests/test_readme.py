from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from .server import api_url

FOLDER = Path(__file__).parent.parent


class ReadmeTest(unittest.TestCase):
    def test_the_first_example_of_the_readme_works(self) -> None:
        example = (FOLDER / "examples/refusal.py").read_text()
        found = re.search("```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
        self.assertEqual(found and found[1], example)
        self.assertIn("http://127.0.0.1:8080", example)
        text = example.replace("http://127.0.0.1:8080", api_url())
        ran = subprocess.run([sys.executable, "-c", text], cwd=FOLDER, capture_output=True, text=True, check=True)
        refused, accepted = ran.stdout.splitlines()
        self.assertEqual(
            refused, "send_limit: alice already has a message at 11:11:11, within 1 minute; the next free time is 11:12:11"
        )
        self.assertRegex(accepted, r"^accepted for \d{4}-\d\d-\d\dT11:12:11\.000Z$")
