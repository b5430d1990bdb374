"""The web face as a browser has it: Chromium against a real `workkit web`, a real server and a real listener."""

import pytest

pytest.register_assert_rewrite("tests.browser.clicking")
