"""What only a real process can show: pipes, signals, devices, large and unreadable files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tuner.cli.app import run

PROGRAM = [sys.executable, "-m", "tuner"]
SWEEP = ["sweep", "--alpha", "0:1:0.001", "--c", "0:1:0.05", "--k", "1:20", "--json"]


def call(*argv: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*PROGRAM, *argv], capture_output=True, text=True, timeout=60, **options
    )


@pytest.mark.parametrize("line", [["--help"], SWEEP, ["recommend", "chat-llama-3.3-70b"]])
def test_a_reader_that_goes_away_is_no_error(line: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*PROGRAM, *line], stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_halfway_is_no_error() -> None:
    process = subprocess.Popen([*PROGRAM, *SWEEP], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(10).startswith(b"{")
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("line", [["schema"], ["--help"], SWEEP])
def test_a_full_disk_is_said(line: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *line], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_closed_streams_are_harmless() -> None:
    done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *PROGRAM, "--version"])
    assert done.returncode == 0


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Busy:
    """A command that takes long, sent an interrupt once our own code runs."""

    def __init__(self, folder: Path, delay_s: float, *more: str) -> None:
        # Before this line an interrupt meets the interpreter alone, which cannot take it quietly.
        code = (
            "import sys; from tuner.cli.app import main; print('x', file=sys.stderr, flush=True); "
            "main()"
        )
        line = ["verify", "--samples", "10000000", "--restarts", "10000000", *more]
        process = subprocess.Popen(
            [sys.executable, "-c", code, *line],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            text=True,
            # a shell ignores interrupts for what it runs in the background, tests included
            preexec_fn=_take_interrupts,
        )
        try:
            assert process.stderr is not None
            process.stderr.read(2)
            time.sleep(delay_s)
            process.send_signal(signal.SIGINT)
            self.out, self.err = process.communicate(timeout=60)
        finally:
            process.kill()
        self.code = process.returncode


@pytest.mark.parametrize("delay_s", [0.01, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.8])
def test_an_interrupt_gives_130_and_no_traceback(delay_s: float, tmp_path: Path) -> None:
    busy = Busy(tmp_path, delay_s)
    assert (busy.code, busy.out) == (130, ""), busy.err
    assert busy.err in ("", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_with_json_is_a_document(tmp_path: Path) -> None:
    busy = Busy(tmp_path, 1.0, "--json")
    assert (busy.code, busy.err) == (130, "")
    assert json.loads(busy.out)["error"]["code"] == 130


def test_a_file_of_100_mb_is_refused_without_being_read(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.write(b"target: a/b\n")
        file.truncate(100_000_000)
    done = call("recommend", str(large))
    assert done.returncode == 2
    assert done.stderr == f"{large}: larger than 1,024 KiB; a profile is small.\n"


def test_an_endless_device_is_refused() -> None:
    done = call("recommend", "/dev/zero")
    assert (done.returncode, done.stdout) == (2, "")
    assert "/dev/zero: larger than 1,024 KiB" in done.stderr


def test_a_file_without_permission(capsys: pytest.CaptureFixture[str]) -> None:
    """In this process: the superuser, for whom no file is unreadable, steps down for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        secret = Path(folder) / "secret.yaml"
        secret.write_text("target: [\n")
        assert run(["recommend", str(secret)]) == 2  # everything is loaded now
        capsys.readouterr()
        secret.chmod(0)
        user = os.geteuid()
        os.seteuid(65534 if user == 0 else user)
        try:
            code = run(["recommend", str(secret)])
        finally:
            os.seteuid(user)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err == f"{secret}: cannot be read: Permission denied.\n"


def test_a_profile_from_standard_input() -> None:
    done = call("recommend", "-", input="target: a/b\nzzz: 1\n")
    assert done.returncode == 2
    assert done.stderr.startswith("standard input:2: zzz: unknown key.")


def test_a_name_that_is_not_utf8_can_be_printed() -> None:
    done = subprocess.run([*PROGRAM, "recommend", b"caf\xe9.yaml"], capture_output=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == b"caf\\udce9.yaml: there is no such file.\n"


ASCII = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
OWN = """
target: {params_b: 8}
hardware: {gpu: H100-SXM, count: 1}
drafter: {path_or_id: /models/é/draft, method: eagle3, params_b: 0.4}
candidates: {methods: [eagle3]}
workload: {temperature: 0}
"""


@pytest.mark.parametrize("form", ["shell", "argv", "json", "yaml"])
def test_commands_keep_their_bytes_in_every_locale(form: str, tmp_path: Path) -> None:
    profile = tmp_path / "own.yaml"
    profile.write_text(OWN, "utf-8")
    line = [*PROGRAM, "recommend", str(profile), "--emit", form]
    done = subprocess.run(line, capture_output=True, env=ASCII, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "/models/é/draft".encode() in done.stdout


def test_the_command_on_the_screen_keeps_its_bytes(tmp_path: Path) -> None:
    """In a folder whose name is no UTF-8, too: the next step names the file."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    profile = folder + b"/own.yaml"
    with open(profile, "w", encoding="utf-8") as file:
        file.write(OWN)
    done = subprocess.run(
        [*PROGRAM, "recommend", profile], capture_output=True, env=ASCII, timeout=60
    )
    assert done.returncode == 0, done.stderr
    command = done.stdout.split(b"vllm serve", 1)[1].split(b"\n\n", 1)[0]
    assert "/models/é/draft".encode() in command
    assert profile in done.stdout
    rest = done.stdout.replace(command, b"").replace(profile, b"")
    assert rest.isascii()


def test_ascii_only_terminals_get_an_answer() -> None:
    environment = ASCII
    for line in (
        ["recommend", "chat-llama-3.3-70b"],
        ["sweep", "--alpha", "0.8"],
        ["sweep", "--alpha", "0.8", "--json"],
    ):
        done = subprocess.run([*PROGRAM, *line], capture_output=True, env=environment, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
