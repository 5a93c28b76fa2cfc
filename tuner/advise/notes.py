"""What the user should be warned of, from the profile and from what was found."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.explain import percent
from tuner.advise.latency import dilution
from tuner.advise.points import ArmPoint, Load
from tuner.advise.situation import Situation
from tuner.records.config import Prediction
from tuner.records.methods import DraftKind, Engine, Task
from tuner.records.sources import Warning_
from tuner.units import GIGA, MILLI

#: A drafter with more than this share of the target's active parameters is named (the bound that
#: users ask for in ml-explore/mlx-lm#1132; the cost model decides, this only explains).
LARGE_DRAFTER_SHARE = 0.25
#: End-to-end gain below this share of the decode gain is worth a word (assumed).
DILUTED_SHARE = 0.85
#: Share of cached prompt tokens from which losing the cache is worth a word (assumed).
CACHE_MATTERS = 0.2
#: Sequences lost to the drafter before it is mentioned (assumed).
LOST_BATCH_SHARE = 0.05


def warnings_of(
    situation: Situation,
    points: Sequence[ArmPoint],
    best: Prediction | None,
    load: Load,
    left_out: Sequence[Warning_],
) -> tuple[Warning_, ...]:
    """Return every warning, the ones about the chosen configuration first."""
    found: list[Warning_] = []
    if best is not None:
        found += [Warning_(code="acceptance-note", message=note) for note in best.notes]
        found += _drafter_size(situation, best)
        found += _memory(best, points)
        found += _dilution(best, load)
        found += _sampling(situation, best)
    found += _saturation(points)
    found += _no_drafter(situation, points)
    wanted = situation.profile.candidates.methods
    return (*found, *situation.warnings, *(left_out if wanted is not None else ()))


def _drafter_size(situation: Situation, best: Prediction) -> list[Warning_]:
    drafter, setup = best.config.drafter, situation.setup
    if drafter is None or drafter.params is None or setup is None:
        return []
    share = drafter.params / setup.target.active_params
    if share <= LARGE_DRAFTER_SHARE:
        return []
    return [
        Warning_(
            code="drafter-large",
            message=(
                f"the drafter has {percent(share)} of the target's "
                f"{setup.target.active_params / GIGA:.3g} billion active parameters: drafting "
                "takes a large part of a plain step for each token."
            ),
        )
    ]


def _memory(best: Prediction, points: Sequence[ArmPoint]) -> list[Warning_]:
    point = next((p for p in points if p.arm.plan.drafter is best.config.drafter), None)
    if point is None or point.memory is None:
        return []
    fit = point.memory
    if not fit.fits:
        text = f"at most {fit.max_batch} sequences fit with the drafter loaded."
        return [Warning_(code="memory", message=text)]
    lost = fit.max_batch_plain - fit.max_batch
    if lost <= LOST_BATCH_SHARE * fit.max_batch_plain:
        return []
    return [
        Warning_(
            code="memory-concurrency",
            message=(
                f"the drafter and its KV cache take room for {lost} of {fit.max_batch_plain} "
                "sequences of this length."
            ),
        )
    ]


def _dilution(best: Prediction, load: Load) -> list[Warning_]:
    if best.tpot_s is None or best.chunk_gap_s is None:
        return []
    plain_s = best.tpot_s.mean * best.speedup.mean
    gain = dilution(load, plain_s, best.tpot_s.mean, best.ttft_delta_s or 0.0)
    decode = best.speedup.mean
    if decode <= 1.0 or gain >= DILUTED_SHARE * decode:
        return []
    return [
        Warning_(
            code="diluted",
            message=(
                f"prefill takes {load.prefill_s / MILLI:.0f} ms and is not sped up: a request of "
                f"{load.output_tokens:g} output tokens ends {gain:.2f}× sooner, not {decode:.2f}×."
            ),
        )
    ]


def _sampling(situation: Situation, best: Prediction) -> list[Warning_]:
    sampling = situation.profile.workload.sampling
    found = []
    if sampling.structured_output or any(
        task is Task.STRUCTURED for task, _ in situation.profile.workload.task
    ):
        found.append(
            Warning_(
                code="structured-output",
                message=(
                    "grammars and drafts meet in the sampler: validate the JSON of the first "
                    "requests (vllm-project/vllm#36138, sgl-project/sglang#13425)."
                ),
            )
        )
    if sampling.min_p is not None and situation.engine is Engine.VLLM:
        found.append(
            Warning_(
                code="min-p-rejected",
                message=(
                    "vLLM answers requests with min_p or logit_bias by HTTP 400 while speculation "
                    "is on (vllm-project/vllm#42744)."
                ),
            )
        )
    if sampling.lora and best.config.drafter is not None:
        found.append(
            Warning_(
                code="lora",
                message=(
                    "the drafter does not know the adapter: acceptance falls by an amount that is "
                    "not known here; measure it."
                ),
            )
        )
    return found


def _saturation(points: Sequence[ArmPoint]) -> list[Warning_]:
    if not any(point.saturated for point in points):
        return []
    return [
        Warning_(
            code="saturated",
            message=(
                "requests arrive faster than this server answers them at the largest batch looked "
                "at (512): queues grow; the numbers are for that batch."
            ),
        )
    ]


def lacks_drafter(situation: Situation, points: Sequence[ArmPoint]) -> bool:
    """Whether nothing but lookups can draft for a known target."""
    lookups_only = all(point.arm.plan.kind is DraftKind.LOOKUP for point in points)
    return situation.setup is not None and lookups_only


def _no_drafter(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Say that no drafter is known, and what is left."""
    setup = situation.setup
    if setup is None or not lacks_drafter(situation, points):
        return []
    return [
        Warning_(
            code="no-drafter",
            message=(
                f"no drafter for {setup.target.model_id} is known that {situation.engine} serves. "
                "What is left: n-gram or suffix lookup on text that repeats its prompt, a small "
                "model with the same tokenizer (drafter: in the profile), or training a head."
            ),
        )
    ]


def lost_prefix_cache(
    situation: Situation, best: Prediction, load: Load, prefill_without_cache_s: float
) -> list[Warning_]:
    """Say what it would cost if the drafter broke the prefix cache, as some versions do."""
    hit = situation.profile.workload.prefix_cache_hit
    if hit < CACHE_MATTERS or best.config.drafter is None or best.tpot_s is None:
        return []
    lost_s = prefill_without_cache_s - load.prefill_s
    plain_s = best.tpot_s.mean * best.speedup.mean
    gain = dilution(load, plain_s, best.tpot_s.mean, (best.ttft_delta_s or 0.0) + lost_s)
    return [
        Warning_(
            code="prefix-cache",
            message=(
                f"some versions lose prefix-cache hits with a drafter (vllm-project/vllm#38182: 21 "
                f"points, #51250: all): without the {percent(hit)} assumed here the first token "
                f"comes {lost_s / MILLI:.0f} ms later and the request ends {gain:.2f}× as fast. "
                "Compare the hit rate before and after."
            ),
        )
    ]
