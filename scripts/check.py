"""Lint, types, import floors, tests: everything that has to pass before a change lands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (
    ("lint", ("ruff", "check", ".")),
    ("format", ("ruff", "format", "--check", ".")),
    ("types", ("mypy",)),
    ("floors", ("importlinter.cli", "lint-imports")),
    ("tests", ("pytest", "-n", "2")),
)


def main() -> int:
    """Run every check, stop at none, and say which failed."""
    failed = []
    for name, (module, *arguments) in CHECKS:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", module, *arguments]
        if module == "importlinter.cli":
            code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
            command = [sys.executable, "-c", code]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
