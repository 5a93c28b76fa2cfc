"""The client for llama.cpp, run by real shells against a server of the same form of answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tuner.engines import emit_bench, pretty
from tuner.engines.llamacpp import ADDRESS
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine

SHELLS = [path for name in ("bash", "dash", "zsh", "sh") if (path := shutil.which(name))]
#: for machines without curl
STAND_IN = """#!{python}
import sys, urllib.request
silent, url, flag, body = sys.argv[1:]
assert (silent, flag) == ("-s", "-d")
sys.stdout.write(urllib.request.urlopen(url, body.encode()).read().decode())
"""
PROMPTS = ["plain", 'quote " and \\ and é', "braces {a} }", "$HOME `id` 'x'", "line\nbreak"]


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, object]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        timings = {"predicted_n": 30, "draft_n": 40, "draft_n_accepted": 20}
        message = {"content": "}", "echo": body["messages"]}
        answer = {"choices": [{"message": message}], "usage": {}, "timings": timings}
        data = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    if shutil.which("curl") is None:
        path = tmp_path / "curl"
        path.write_text(STAND_IN.format(python=sys.executable))
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{os.environ['PATH']}:{tmp_path}"}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("end", ["\n", ""])
def test_every_prompt_is_asked_and_its_timings_printed(
    shell: str, batch: int, end: str, server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    lines = [json.dumps({"messages": [{"role": "user", "content": text}]}) for text in PROMPTS]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines) + end, "utf-8")
    request = EmitRequest(
        engine=Engine.LLAMACPP, target="m.gguf", max_batch=batch, temperature=0.7, output_tokens=33
    )
    command = emit_bench(request)
    text = pretty(command.argv, 100).replace(ADDRESS, f"http://127.0.0.1:{server.server_port}")
    done = subprocess.run(
        [shell, "-c", text],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    asked = sorted(body["messages"][0]["content"] for body in server.bodies)  # type: ignore[index]
    assert asked == sorted(PROMPTS)
    assert {(body["max_tokens"], body["temperature"]) for body in server.bodies} == {(33, 0.7)}
    printed = [json.loads("{" + line + "}")["timings"] for line in done.stdout.splitlines()]
    assert [row["draft_n_accepted"] for row in printed] == [20] * len(PROMPTS)


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP])
def test_a_client_says_where_acceptance_appears(engine: Engine) -> None:
    note = emit_bench(EmitRequest(engine=engine, target="m.gguf")).warnings[-1]
    assert note.code == "acceptance-appears"
    assert "prompts.jsonl" in note.message
    assert "τ" in note.message
