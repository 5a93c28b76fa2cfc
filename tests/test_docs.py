"""Everything that the documentation and the skills show is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scripts.console_blocks import BLOCK, PAGES, ROOT, stale
from tuner.cli.app import run
from tuner.report.skills import SKILLS, skill_text

COMMAND = re.compile(r"^\s*specdec-tune (.+)$", re.M)
BASH = re.compile(r"^\s*```bash\n(.*?)^\s*```", re.M | re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if (ROOT / page).exists()])
def test_shown_output_is_what_the_command_prints(page: str) -> None:
    assert BLOCK.search((ROOT / page).read_text(encoding="utf-8"))
    assert not [block.command for block, _ in stale(ROOT / page)]


@pytest.mark.parametrize("name", SKILLS)
def test_skill_file_is_the_skill(name: str) -> None:
    path = ROOT / "outputs" / f"skill-{name}.md"
    assert path.read_text(encoding="utf-8").strip() == skill_text(name).strip()


@pytest.mark.parametrize("name", SKILLS)
def test_commands_of_the_skill_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line for block in BASH.findall(skill_text(name)) for line in COMMAND.findall(block)]
    assert commands
    for command in commands:
        assert run(shlex.split(command)) == 0, command
        capsys.readouterr()


def test_skill_states_front_matter() -> None:
    for name in SKILLS:
        head = skill_text(name).split("---")[1]
        assert f"name: {name}" in head
        assert "description: " in head


def test_readme_commands_of_the_table_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of the table of commands that are complete as they stand, for a shipped profile."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \|", text, re.M)
    assert len(rows) >= 5
    for row in rows:
        if "{" in row:
            continue
        command = row.replace("PROFILE", "chat-llama-3.3-70b")
        assert run(shlex.split(command)) == 0, command
        capsys.readouterr()


def test_readme_profile_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    profile = re.search(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    assert profile
    path = tmp_path / "mine.yaml"
    path.write_text(profile[1], encoding="utf-8")
    assert run(["recommend", str(path)]) == 0
    capsys.readouterr()


def test_every_data_file_is_described() -> None:
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    missing = [file.name for file in (ROOT / "data").glob("*.csv") if file.name not in text]
    assert not missing


def test_decisions_are_titled_by_their_number() -> None:
    for file in (ROOT / "docs" / "decisions").glob("*.md"):
        title = file.read_text(encoding="utf-8").partition("\n")[0]
        assert re.fullmatch(rf"# {file.name[:4]}: [a-z].+[^.]", title), file.name
