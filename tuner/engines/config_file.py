"""A launch command as the mapping that the engine's ``--config`` file holds.

Both readers turn a key into ``--key`` and a mapping into JSON: ``FlexibleArgumentParser`` of vLLM
0.33.0 (utils/argparse_utils.py) takes the model under ``model``; ``ConfigArgumentMerger`` of SGLang
0.5.23 (srt/utils/server_args_config_parser.py) writes a switch where the value is true.
"""

from __future__ import annotations

import json

from tuner.engines.versions import TITLES
from tuner.errors import InputError
from tuner.records.decision import EngineCommand
from tuner.records.methods import Engine

#: What reads the file.
READERS: dict[Engine, str] = {
    Engine.VLLM: "vllm serve --config FILE.yaml",
    Engine.SGLANG: "python -m sglang.launch_server --config FILE.yaml",
}


def config_mapping(command: EngineCommand) -> dict[str, object]:
    """Return every argument of a server under its option's name.

    Raises
    ------
    InputError
        The engine reads no such file.
    """
    if command.engine not in READERS:
        raise InputError(
            f"{TITLES[command.engine]} reads no YAML configuration: take --emit shell or argv."
        )
    words = list(command.argv[2:])
    found: dict[str, object] = {}
    if not words[0].startswith("--"):
        found["model"] = words.pop(0)
    while words:
        key = words.pop(0).removeprefix("--")
        has_value = bool(words) and not words[0].startswith("--")
        found[key] = _typed(words.pop(0)) if has_value else True
    return found


def _typed(text: str) -> object:
    """Return a number or a JSON object where the text is just that, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_same_number = type(value) in (int, float) and str(value) == text
    return value if is_same_number or isinstance(value, dict) else text
