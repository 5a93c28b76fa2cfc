"""The page about the profile is the one that the table gives."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("r", ROOT / "scripts" / "profile_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "profile.md").read_text() == load_script().reference()
