"""``--set target=…``: a name, or the file that ``init --target`` takes too."""

from __future__ import annotations

import pytest

from tuner.profile import parse_profile
from tuner.records.workload import TargetSpec

BASE = "target: meta-llama/Llama-3.1-8B-Instruct\nworkload: {batch: 4}\n"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("target=Qwen/Qwen3-8B", TargetSpec(model_id="Qwen/Qwen3-8B")),
        ("target=/models/x/config.json", TargetSpec(config_path="/models/x/config.json")),
        ("target=/models/x/Config.JSON", TargetSpec(config_path="/models/x/Config.JSON")),
        ("target=/models/x-Q4_0.gguf", TargetSpec(gguf_path="/models/x-Q4_0.gguf")),
        ("target={config: /models/x/config.json}", TargetSpec(config_path="/models/x/config.json")),
        ("target={params_b: 27}", TargetSpec(params_b=27.0)),
    ],
)
def test_a_target_is_a_name_a_file_or_sizes(setting: str, expected: TargetSpec) -> None:
    profile = parse_profile(BASE, file="case.yaml", name="case", sets=[setting])
    assert profile.target == expected
    assert "target" in profile.given
