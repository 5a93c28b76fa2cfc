"""Files that commands write: refused with a reason, never half-written."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tuner.cli.files import check_out_file, write_file
from tuner.errors import InputError


def test_written_whole_and_alone(tmp_path: Path) -> None:
    path = check_out_file("--csv", str(tmp_path / "a.csv"))
    write_file("--csv", path, [b"one\n", b"two\n"])
    assert path.read_bytes() == b"one\ntwo\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")

    def chunks() -> Iterator[bytes]:
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file("--csv", path, chunks())
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_file("--csv", link, [b"new"])
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_device_is_written_directly() -> None:
    write_file("--csv", Path("/dev/null"), [b"gone"])
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["", "  ", "a\0b"])
def test_not_a_name(name: str) -> None:
    with pytest.raises(InputError, match="is not a file name"):
        check_out_file("--csv", name)


def test_a_directory_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        check_out_file("--plot", str(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        check_out_file("--plot", str(tmp_path / "none" / "a.png"))


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--csv: "):
        check_out_file("--csv", str(tmp_path / ("x" * 300)))


def test_the_ending_decides_the_format(tmp_path: Path) -> None:
    assert check_out_file("--plot", str(tmp_path / "A.PNG"), endings=(".png",)).suffix == ".PNG"
    with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
        check_out_file("--plot", str(tmp_path / "a.pdf"), endings=(".png", ".svg"))
