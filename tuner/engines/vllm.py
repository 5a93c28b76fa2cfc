"""vLLM 0.33.0: ``vllm serve`` and ``vllm bench serve``.

Options and checks as in vllm/engine/arg_utils.py, vllm/config/speculative.py, vllm/config/vllm.py
and vllm/v1/spec_decode/dynamic/utils.py of the 0.33.0 wheel.
"""

from __future__ import annotations

import json

from tuner.engines.dtypes import kv_word, weight_words
from tuner.engines.schedules import LengthRow, length_rows
from tuner.engines.words import drafter_name, operand, option, warning
from tuner.errors import InputError
from tuner.records.emit import EmitRequest
from tuner.records.methods import Method, VerifyRule
from tuner.records.sources import Warning_

METHOD_WORDS: dict[Method, str] = {
    Method.DRAFT_MODEL: "draft_model",
    Method.EAGLE: "eagle",
    Method.EAGLE3: "eagle3",
    Method.EAGLE3_1: "eagle3",
    Method.P_EAGLE: "eagle3",
    Method.MTP: "mtp",
    Method.DFLASH: "dflash",
    Method.DSPARK: "dspark",
    Method.NGRAM: "ngram",
    Method.SUFFIX: "suffix",
}
#: Methods of model runner V1 whose K it cannot change by batch (config/vllm.py,
#: _get_v2_model_runner_unsupported_features, _maybe_disable_dynamic_sd_for_v1).
FIXED_LENGTH_METHODS = (Method.SUFFIX,)
#: Methods that model runner V2 does not have.
RUNNER_V1_METHODS = (Method.SUFFIX, Method.P_EAGLE)
#: Methods that were seen to run under pipeline parallelism (vllm-project/vllm#50514).
PIPELINE_METHODS = (Method.EAGLE3, Method.EAGLE3_1)
#: Methods without draft probabilities: the draft is a point mass whatever the setting.
POINT_MASS_METHODS = (Method.NGRAM, Method.SUFFIX)
#: benchmarks/serve.py, 0.33.0: the client reads /metrics before and after.
ACCEPTANCE_APPEARS = (
    'prompts.jsonl holds lines of {"prompt": "…"}; at its end the client prints acceptance length '
    "(τ) and acceptance by position, and saves them as spec_decode_acceptance_length and "
    "spec_decode_per_position_acceptance_rates"
)
#: Largest decode step, in tokens, that has a CUDA graph by default (1,024 on Blackwell).
DEFAULT_GRAPH_TOKENS = 512


def server_argv(request: EmitRequest) -> tuple[list[str], tuple[Warning_, ...]]:
    """Return the server's arguments without speculation."""
    parallel = request.parallel
    weights, warnings = weight_words(request)
    argv = ["vllm", "serve", operand(request.target)]
    argv += option("--tensor-parallel-size", parallel.tensor)
    argv += option("--pipeline-parallel-size", parallel.pipeline if parallel.pipeline > 1 else None)
    argv += option("--data-parallel-size", parallel.data if parallel.data > 1 else None)
    argv += ["--enable-expert-parallel"] if parallel.expert > 1 else []
    argv += weights
    argv += option("--kv-cache-dtype", kv_word(request))
    argv += option("--max-model-len", request.max_context_tokens)
    argv += option("--max-num-seqs", request.max_batch)
    argv += option("--gpu-memory-utilization", request.memory_fraction)
    return argv, warnings


def speculative(
    request: EmitRequest,
) -> tuple[list[str], dict[str, object], dict[str, str], tuple[Warning_, ...]]:
    """Return the speculative arguments, the mapping behind them, files, and warnings."""
    rows, warnings = _schedule(request)
    config = _config(request, rows)
    argv = ["--speculative-config", json.dumps(config, ensure_ascii=False)]
    return argv, config, {}, (*warnings, *_cautions(request, config, rows))


def bench_argv(request: EmitRequest) -> list[str]:
    """Return a client that measures the running server with prompts of the user's own."""
    batch = request.max_batch or 1
    argv = ["vllm", "bench", "serve", "--model", operand(request.target)]
    argv += ["--dataset-name", "custom", "--dataset-path", "prompts.jsonl"]
    argv += option("--custom-output-len", request.output_tokens)
    argv += option("--num-prompts", bench_prompts(batch))
    argv += load_options(request, batch)
    argv += option("--temperature", request.temperature)
    argv += ["--save-result"]
    return argv


def load_options(request: EmitRequest, batch: int) -> list[str]:
    """Return how the client loads the server: arrivals at a rate, else requests in flight.

    The clients of vLLM (benchmarks/serve.py, 0.33.0) and SGLang (benchmark/serving.py, 0.5.23)
    spell both alike.
    """
    if request.request_rate is not None:
        return option("--request-rate", float(request.request_rate))
    return option("--max-concurrency", batch)


def bench_prompts(batch: int) -> int:
    """Return how many prompts to send: ten rounds of the batch, 100 at least (assumed)."""
    return max(10 * batch, 100)


def _config(request: EmitRequest, rows: tuple[LengthRow, ...]) -> dict[str, object]:
    method = request.config.method
    length = max(
        [request.config.num_speculative_tokens, *(row.num_speculative_tokens for row in rows)]
    )
    config: dict[str, object] = {"method": METHOD_WORDS[method]}
    name = drafter_name(request)
    if name is not None:
        config["model"] = name
    config["num_speculative_tokens"] = length
    if method is Method.NGRAM:
        config["prompt_lookup_min"] = request.ngram_min
        config["prompt_lookup_max"] = request.ngram_max
    if method is Method.P_EAGLE:
        config["parallel_drafting"] = True
    config |= _draft_tensor_parallel(request)
    config |= _verify_rule(request)
    if rows:
        config["num_speculative_tokens_per_batch_size"] = [
            [row.start, row.end, row.num_speculative_tokens] for row in rows
        ]
    _check_trained_depth(request, length)
    return config


def _draft_tensor_parallel(request: EmitRequest) -> dict[str, object]:
    drafter = request.config.drafter
    tensor = drafter.tensor_parallel if drafter else None
    if tensor is None:
        return {}
    if tensor not in (1, request.parallel.tensor):
        raise InputError(
            f"vLLM runs the drafter on 1 device or on as many as the target, "
            f"{request.parallel.tensor}; tensor_parallel {tensor} of the drafter is neither."
        )
    return {"draft_tensor_parallel_size": tensor}


def _verify_rule(request: EmitRequest) -> dict[str, object]:
    """By default drafts are point masses; the other rules need the drafter's probabilities."""
    rule = request.config.verify_rule
    if rule.is_lossy:
        raise InputError(f"vLLM 0.33.0 has no {rule.value} acceptance (it went in 0.10.0).")
    if request.config.method in POINT_MASS_METHODS:
        return {}
    if rule is VerifyRule.RATIO:
        return {"draft_sample_method": "probabilistic"}
    if rule is VerifyRule.BLOCK:
        return {"draft_sample_method": "probabilistic", "rejection_sample_method": "block"}
    return {}


def _check_trained_depth(request: EmitRequest, length: int) -> None:
    drafter = request.config.drafter
    depth = drafter.trained_depth if drafter else None
    is_uneven = depth is not None and length > depth and length % depth != 0
    if request.config.method is Method.MTP and is_uneven:
        raise InputError(
            f"vLLM takes more than the {depth} trained MTP layers only as a multiple of them; "
            f"num_speculative_tokens {length} is none."
        )


def _schedule(request: EmitRequest) -> tuple[tuple[LengthRow, ...], tuple[Warning_, ...]]:
    rows, warnings = length_rows(request)
    if not rows:
        return rows, warnings
    if request.parallel.data > 1:
        message = (
            "vLLM ignores num_speculative_tokens_per_batch_size under data parallelism; "
            "the schedule is left out and K stays fixed"
        )
        return (), (warning("schedule-ignored-with-data-parallel", message),)
    if request.config.method in FIXED_LENGTH_METHODS:
        message = (
            f"vLLM cannot change K by batch for method {request.config.method.value}; the schedule "
            f"is left out (it sets its own draft length by the match)"
        )
        return (), (warning("schedule-ignored-by-method", message),)
    return rows, warnings


def _cautions(
    request: EmitRequest, config: dict[str, object], rows: tuple[LengthRow, ...]
) -> tuple[Warning_, ...]:
    found: list[Warning_] = []
    if request.min_p:
        found.append(
            warning(
                "min-p-rejected",
                "vLLM answers HTTP 400 to requests with min_p or logit_bias when it speculates",
            )
        )
    if request.config.method is Method.SUFFIX:
        found.append(
            warning("needs-package", "suffix decoding needs: pip install arctic-inference==0.1.1")
        )
    found += _runner_cautions(request)
    tokens = _largest_step_tokens(request, config, rows)
    if tokens > DEFAULT_GRAPH_TOKENS:
        found.append(
            warning(
                "cuda-graph-coverage",
                f"the largest decode step verifies {tokens} tokens; vLLM captures CUDA graphs up "
                f"to {DEFAULT_GRAPH_TOKENS} by default (1,024 on Blackwell), and larger steps run "
                f"without one",
            )
        )
    return tuple(found)


def _runner_cautions(request: EmitRequest) -> list[Warning_]:
    """What follows from the model runner that vLLM picks (config/vllm.py, use_v2_model_runner)."""
    method, is_piped = request.config.method, request.parallel.pipeline > 1
    found: list[Warning_] = []
    if method in RUNNER_V1_METHODS:
        lost = "asynchronous scheduling is off" if method is Method.SUFFIX or is_piped else ""
        message = (
            f"{method.value} runs on vLLM's model runner V1{f', where {lost}' if lost else ''}"
        )
        found.append(warning("model-runner-v1", message))
    if is_piped and request.structured_output and method in RUNNER_V1_METHODS:
        message = "model runner V1 does not serve structured output under pipeline parallelism"
        found.append(warning("structured-output-with-pipeline", message))
    if is_piped and method not in PIPELINE_METHODS:
        message = (
            f"vLLM is known to serve EAGLE-3 under pipeline parallelism, not {method.value}: "
            f"try it before relying on it"
        )
        found.append(warning("pipeline-with-speculation", message))
    return found


def _largest_step_tokens(
    request: EmitRequest, config: dict[str, object], rows: tuple[LengthRow, ...]
) -> int:
    batch = request.max_batch
    if batch is None:
        return 0
    if not rows:
        return batch * (request.config.num_speculative_tokens + 1)
    ends = [*(row.end for row in rows[:-1]), batch]
    return max(
        min(end, batch) * (row.num_speculative_tokens + 1)
        for row, end in zip(rows, ends, strict=True)
    )
