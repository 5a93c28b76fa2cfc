"""SGLang 0.5.23: ``sglang serve`` and its benchmark client.

Options and checks as in sglang/srt/arg_groups/fields/*.py, arg_groups/speculative_hook.py and
speculative/adaptive_spec_params.py of the 0.5.23 wheel.
"""

from __future__ import annotations

import json

from tuner.engines.dtypes import kv_word, weight_words
from tuner.engines.schedules import LengthRow, length_rows
from tuner.engines.vllm import bench_prompts, load_options
from tuner.engines.words import drafter_name, operand, option, warning
from tuner.errors import InputError
from tuner.records.emit import EmitRequest
from tuner.records.methods import Method, VerifyRule
from tuner.records.sources import Warning_

ALGORITHM_WORDS: dict[Method, str] = {
    Method.DRAFT_MODEL: "STANDALONE",
    Method.EAGLE: "EAGLE",
    Method.EAGLE2: "EAGLE",
    Method.EAGLE3: "EAGLE3",
    Method.EAGLE3_1: "EAGLE3",
    Method.MTP: "NEXTN",
    Method.DFLASH: "DFLASH",
    Method.DSPARK: "DSPARK",
    Method.NGRAM: "NGRAM",
}
#: Algorithms that draft step by step, take all three numbers, and can change K by batch
#: (NEXTN is resolved to EAGLE before the adaptive check).
STEPWISE = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
ADAPTIVE = ("EAGLE", "EAGLE3", "NEXTN")
ADAPTIVE_FILE = "speculative-schedule.json"
#: sglang/benchmark/serving.py, 0.5.23: read from the server's internal state.
ACCEPTANCE_APPEARS = (
    'prompts.jsonl holds lines of {"messages": [{"role": "user", "content": "…"}]}; the client '
    "prints the accept length (τ) at its end, the server's log shows it while it runs"
)
#: What SGLang sets max_running_requests to when speculation is on and it is not given.
DEFAULT_RUNNING_REQUESTS = 48


def server_argv(request: EmitRequest) -> tuple[list[str], tuple[Warning_, ...]]:
    """Return the server's arguments without speculation."""
    parallel = request.parallel
    weights, warnings = weight_words(request)
    argv = ["sglang", "serve", "--model-path", operand(request.target)]
    argv += option("--tensor-parallel-size", parallel.tensor)
    argv += option("--pipeline-parallel-size", parallel.pipeline if parallel.pipeline > 1 else None)
    argv += option("--data-parallel-size", parallel.data if parallel.data > 1 else None)
    argv += option("--expert-parallel-size", parallel.expert if parallel.expert > 1 else None)
    argv += weights
    argv += option("--kv-cache-dtype", kv_word(request))
    argv += option("--context-length", request.max_context_tokens)
    argv += option("--max-running-requests", request.max_batch)
    argv += option("--mem-fraction-static", request.memory_fraction)
    return argv, warnings


def speculative(
    request: EmitRequest,
) -> tuple[list[str], dict[str, object], dict[str, str], tuple[Warning_, ...]]:
    """Return the speculative arguments, the mapping behind them, files, and warnings."""
    algorithm = ALGORITHM_WORDS[request.config.method]
    rows, warnings = _schedule(request, algorithm)
    config: dict[str, object] = {"speculative_algorithm": algorithm}
    name = drafter_name(request)
    if name is None and request.config.method is Method.MTP:
        # Only some architectures fall back to the target by themselves; naming it works for all.
        name = operand(request.target)
    if name is not None:
        config["speculative_draft_model_path"] = name
    config |= _lengths(request, algorithm, rows)
    config |= _verify_rule(request, algorithm)
    files: dict[str, str] = {}
    if rows:
        config["speculative_adaptive"] = True
        config["speculative_adaptive_config"] = ADAPTIVE_FILE
        files[ADAPTIVE_FILE] = _adaptive_file(rows)
    argv: list[str] = []
    for key, value in config.items():
        flag = "--" + key.replace("_", "-")
        argv += [flag] if value is True else option(flag, value)
    argv += option("--cuda-graph-max-bs-decode", request.max_batch)
    return argv, config, files, (*warnings, *_cautions(request))


def bench_argv(request: EmitRequest) -> list[str]:
    """Return a client that measures the running server with prompts of the user's own."""
    batch = request.max_batch or 1
    argv = ["python", "-m", "sglang.benchmark.serving", "--backend", "sglang-oai-chat"]
    argv += ["--model", operand(request.target)]
    argv += ["--dataset-name", "openai", "--dataset-path", "prompts.jsonl"]
    argv += option("--sharegpt-output-len", request.output_tokens)
    argv += option("--num-prompts", bench_prompts(batch))
    argv += load_options(request, batch)
    argv += option("--temperature", request.temperature)
    argv += ["--output-file", "bench.jsonl"]
    return argv


def _lengths(
    request: EmitRequest, algorithm: str, rows: tuple[LengthRow, ...]
) -> dict[str, object]:
    """All three numbers are given: with topk 1 SGLang needs draft tokens = steps + 1."""
    config = request.config
    if config.tree is not None:
        if algorithm not in STEPWISE:
            raise InputError(f"SGLang verifies no draft tree with {algorithm}.")
        tree = config.tree
        is_chain = tree.topk == 1
        return {
            "speculative_num_steps": tree.num_steps,
            "speculative_eagle_topk": tree.topk,
            "speculative_num_draft_tokens": tree.num_steps + 1 if is_chain else tree.draft_tokens,
        }
    length = config.num_speculative_tokens
    if algorithm in STEPWISE:
        candidates = {row.num_speculative_tokens for row in rows}
        if candidates and length not in candidates:
            length = max(candidates)
        return {
            "speculative_num_steps": length,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": length + 1,
        }
    if algorithm == "DSPARK":
        return {"speculative_dspark_block_size": length, "speculative_num_draft_tokens": length + 1}
    if algorithm == "NGRAM":
        # A breadth of 1 keeps the trie's proposal a chain.
        return {
            "speculative_num_draft_tokens": length + 1,
            "speculative_ngram_max_bfs_breadth": 1,
        }
    return {"speculative_num_draft_tokens": length + 1}


def _verify_rule(request: EmitRequest, algorithm: str) -> dict[str, object]:
    """By default SGLang samples from the target and keeps a draft token that matches."""
    rule = request.config.verify_rule
    if rule.is_lossy:
        raise InputError(
            f"{rule.value} acceptance would change the output: "
            f"SGLang's accept thresholds stay at 1.0."
        )
    is_chain = request.config.tree is None or request.config.tree.topk == 1
    if rule is VerifyRule.RATIO and algorithm in ADAPTIVE and is_chain:
        return {"speculative_use_rejection_sampling": True}
    if rule is VerifyRule.BLOCK and algorithm in (*ADAPTIVE, "DFLASH", "DSPARK") and is_chain:
        return {"speculative_use_block_verification": True}
    return {}


def _schedule(
    request: EmitRequest, algorithm: str
) -> tuple[tuple[LengthRow, ...], tuple[Warning_, ...]]:
    rows, warnings = length_rows(request)
    if rows and algorithm not in ADAPTIVE:
        message = f"SGLang cannot change K by batch with {algorithm}; the schedule is left out"
        return (), (warning("schedule-ignored-by-method", message),)
    return rows, warnings


def _adaptive_file(rows: tuple[LengthRow, ...]) -> str:
    """One candidate a key is a fixed row: the engine has nothing to walk between."""
    table = {str(row.start): {"candidate_steps": [row.num_speculative_tokens]} for row in rows}
    return json.dumps(table, indent=2) + "\n"


def _cautions(request: EmitRequest) -> tuple[Warning_, ...]:
    found: list[Warning_] = []
    if request.max_batch is None:
        message = (
            f"SGLang caps running requests at {DEFAULT_RUNNING_REQUESTS} with speculation and not "
            f"without; give --max-running-requests to both servers before comparing them"
        )
        found.append(warning("running-requests-capped", message))
    if request.config.tree is not None and request.config.tree.topk > 1:
        message = (
            "a tree (topk > 1) needs page size 1, or attention backend flashinfer, fa3 or triton"
        )
        found.append(warning("tree-needs-attention-backend", message))
    return tuple(found)
