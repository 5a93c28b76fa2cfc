"""What the user should be warned of, from the profile and from what was found."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.engine_notes import not_built, undoing
from tuner.advise.explain import batch_text, percent, setting_name
from tuner.advise.latency import crowded, dilution
from tuner.advise.plain import PlainCurve, queues
from tuner.advise.points import ArmPoint, Load
from tuner.advise.situation import Situation
from tuner.advise.unused import disagreeing_rows, unused_rows
from tuner.engines import TITLES
from tuner.records.config import Prediction
from tuner.records.interval import Interval
from tuner.records.methods import METHOD_TITLES, DraftKind, Engine, Method, Task
from tuner.records.sources import Warning_
from tuner.units import GIGA, MILLI

#: A drafter with more than this share of the target's active parameters is named (the bound that
#: users ask for in ml-explore/mlx-lm#1132; the cost model decides, this only explains).
LARGE_DRAFTER_SHARE = 0.25
#: End-to-end gain below this share of the decode gain is worth a word (assumed).
DILUTED_SHARE = 0.85
#: Share of cached prompt tokens from which losing the cache is worth a word (assumed).
CACHE_MATTERS = 0.2
#: The load is near the memory limit from this fraction of it on (assumed: a burst doubles it) …
NEAR_LIMIT = 2.0
#: … and a batch this close to the wanted one is worth naming (assumed).
CLOSE_BATCH = 0.8
#: Sequences lost to the drafter before it is mentioned (assumed).
LOST_BATCH_SHARE = 0.05


def warnings_of(
    situation: Situation,
    points: Sequence[ArmPoint],
    best: Prediction | None,
    configs: Sequence[Prediction],
    load: Load,
    plain: PlainCurve,
    left_out: Sequence[Warning_],
) -> tuple[Warning_, ...]:
    """Return every warning, the ones about the chosen configuration first."""
    found: list[Warning_] = []
    if best is not None:
        found += _acceptance_notes(best, configs)
        found += _drafter_size(situation, best)
        found += _memory(best, plain) + _would_fit(best, configs)
        found += _dilution(best, load) + _shared_steps(best, load)
        found += _sampling(situation, best) + undoing(situation, best)
    found += _saturation(points, configs, load, plain)
    found += _no_drafter(situation, points) + _asked_in_vain(situation, points, left_out)
    found += disagreeing_rows(situation, points) + unused_rows(situation, points)
    found += _placeholder(situation) + not_built(situation)
    wanted = situation.profile.candidates.methods
    return (*found, *situation.warnings, *(left_out if wanted is not None else ()))


def _acceptance_notes(best: Prediction, configs: Sequence[Prediction]) -> list[Warning_]:
    """What qualifies the acceptance of the configurations in the table, each said once."""
    found = [Warning_(code="acceptance-note", message=note) for note in best.notes]
    said = set(best.notes)
    for item in configs:
        for note in item.notes:
            if note not in said:
                said.add(note)
                message = f"{item.config.method}: {note}"
                found.append(Warning_(code="acceptance-note", message=message))
    return found


def _placeholder(situation: Situation) -> list[Warning_]:
    target = situation.profile.target
    if target is None or target.model_id or target.gguf_path:
        return []
    stand_in = "the folder of the config file stands" if target.config_path else "TARGET stands"
    message = f"{stand_in} for the checkpoint in the command: put its id or path there."
    return [Warning_(code="placeholder", message=message)]


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


def _memory(best: Prediction, plain: PlainCurve) -> list[Warning_]:
    """Say what speculation takes from concurrency, where the load comes near the limit."""
    if best.max_batch is None or plain.max_batch is None:
        return []
    if best.fits_memory is False:
        text = f"at most {best.max_batch} sequences fit with speculation on."
        return [Warning_(code="memory", message=text)]
    lost = plain.max_batch - best.max_batch
    is_near = best.batch * NEAR_LIMIT >= best.max_batch
    if not is_near or lost <= LOST_BATCH_SHARE * plain.max_batch:
        return []
    what = "the drafter, its KV cache and the logits of" if best.config.drafter else "the logits of"
    return [
        Warning_(
            code="memory-concurrency",
            message=(
                f"{what} the verified tokens take room for {lost:,} of {plain.max_batch:,} "
                "sequences of this length."
            ),
        )
    ]


def _would_fit(best: Prediction, configs: Sequence[Prediction]) -> list[Warning_]:
    """Name a faster configuration that only a somewhat smaller batch keeps from fitting."""
    for item in configs:
        close = item.max_batch is not None and item.max_batch >= CLOSE_BATCH * item.batch
        if item.fits_memory is False and close and item.speedup.mean > best.speedup.mean:
            return [
                Warning_(
                    code="fits-at",
                    message=(
                        f"{setting_name(item)} would run at {_factor(item.speedup)} and fits up "
                        f"to {item.max_batch} sequences: cap the server there."
                    ),
                )
            ]
    return []


def _dilution(best: Prediction, load: Load) -> list[Warning_]:
    if best.tpot_s is None or best.chunk_gap_s is None:
        return []
    gain = _request_gain(best, load, best.ttft_delta_s or 0.0)
    decode = best.speedup.mean
    if gain is None or decode <= 1.0 or gain.mean >= DILUTED_SHARE * decode:
        return []
    return [
        Warning_(
            code="diluted",
            message=(
                f"prefill takes {load.prefill_s:.2g} s and is not sped up: a request of "
                f"{load.output_tokens:g} output tokens is answered {_factor(gain)} as fast, "
                f"not {_factor(best.speedup)}."
            ),
        )
    ]


def _shared_steps(best: Prediction, load: Load) -> list[Warning_]:
    """Say what is left of the gain where the prefill of other requests shares the steps."""
    if best.speedup.mean <= 1.0 or best.batch <= 1.0:
        return []
    delta_s = best.ttft_delta_s or 0.0
    alone = _request_gain(best, load, delta_s)
    shared = _request_gain(best, crowded(load, best.batch), best.batch * delta_s)
    if alone is None or shared is None or shared.mean >= DILUTED_SHARE * alone.mean:
        return []
    return [
        Warning_(
            code="shared-steps",
            message=(
                "where prefill and decoding share the devices (chunked prefill), the prompts of "
                f"{batch_text(best.batch)} requests pass through each request's steps: it is "
                f"then answered {_factor(shared)} as fast, not {_factor(alone)}; with prefill "
                "on other devices the latter holds."
            ),
        )
    ]


def _request_gain(best: Prediction, load: Load, delta_s: float) -> Interval | None:
    """Return the speedup of a whole request at plain steps as expected; prefill as computed."""
    if best.tpot_s is None:
        return None
    plain_s, speed = best.tpot_s.mean * best.speedup.mean, best.speedup
    mean, low, high = (
        dilution(load, plain_s, plain_s / value, delta_s)
        for value in (speed.mean, speed.p10, speed.p90)
    )
    return Interval(mean=mean, p10=low, p90=high)


def _factor(value: Interval) -> str:
    """Return "1.72× (1.15–2.50)"."""
    belief = f" ({value.p10:.2f}–{value.p90:.2f})" if value.p90 > value.p10 else ""
    return f"{value.mean:.2f}×{belief}"


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


def _saturation(
    points: Sequence[ArmPoint], configs: Sequence[Prediction], load: Load, plain: PlainCurve
) -> list[Warning_]:
    most = f"{plain.max_batch:,} fit plain" if plain.max_batch else "512 is the most looked at"
    if not queues(load, plain, points):
        return _overrun(configs, load, plain, most)
    who = "" if plain.queues else _full_names(points)
    return [
        Warning_(
            code="saturated",
            message=(
                f"more requests than can decode together{who} ({most}): the rest queue, so "
                "configurations are compared by throughput, and times are those of running ones."
            ),
        )
    ]


def _full_names(points: Sequence[ArmPoint]) -> str:
    """Name the methods that are full where plain decoding is not."""
    full = [point for point in points if point.fits and point.saturated.any()]
    names = dict.fromkeys(METHOD_TITLES[point.arm.method] for point in full)
    return f" with {' or '.join(names)}" if names else ""


def _overrun(
    configs: Sequence[Prediction], load: Load, plain: PlainCurve, most: str
) -> list[Warning_]:
    """Name what cannot serve the arrivals that others keep up with."""
    late = [item for item in configs if item.falls_behind and item.fits_memory is not False]
    names = ["plain decoding"] if plain.queues else []
    names += [f"{METHOD_TITLES[item.config.method]} at {_setting(item)}" for item in late]
    if not names:
        return []
    return [
        Warning_(
            code="falls-behind",
            message=(
                f"{load.request_rate:g} requests a second are more than "
                f"{' or '.join(dict.fromkeys(names))} can serve ({most}): requests pile up there, "
                "and the times shown are those of running ones."
            ),
        )
    ]


def _setting(item: Prediction) -> str:
    tree = item.config.tree
    return f"tree {tree}" if tree else f"K {item.config.num_speculative_tokens}"


def _asked_in_vain(
    situation: Situation, points: Sequence[ArmPoint], left_out: Sequence[Warning_]
) -> list[Warning_]:
    """Methods that the profile names and that nothing can draft with here."""
    asked = situation.profile.candidates.methods or ()
    present = {point.arm.method for point in points} | {Method.NONE}
    refused = {warning.message for warning in left_out}
    found = []
    for method in asked:
        if method in present or any(str(method) in message for message in refused):
            continue
        why = (
            "the checkpoint has no such layers"
            if method is Method.MTP
            else "no drafter of this method is known for the target"
        )
        found.append(Warning_(code="method-absent", message=f"{method}: {why}."))
    return found


def lacks_drafter(situation: Situation, points: Sequence[ArmPoint]) -> bool:
    """Whether nothing but lookups can draft for a known target on this engine."""
    profile = situation.profile
    lookups_only = all(point.arm.plan.kind is DraftKind.LOOKUP for point in points)
    is_open = profile.candidates.methods is None and profile.drafter is None
    return situation.setup is not None and lookups_only and is_open


def _no_drafter(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Say that no drafter is known, and what is left."""
    setup = situation.setup
    if setup is None or not lacks_drafter(situation, points):
        return []
    count = len(situation.drafters)
    elsewhere = f"{count} are known for other engines (specdec-tune catalog drafters). "
    return [
        Warning_(
            code="no-drafter",
            message=(
                f"no drafter for {setup.target.model_id} is known that "
                f"{TITLES[situation.engine]} serves. {elsewhere if count else ''}"
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
    gain = _request_gain(best, load, (best.ttft_delta_s or 0.0) + lost_s)
    if gain is None:
        return []
    return [
        Warning_(
            code="prefix-cache",
            message=(
                f"some versions lose prefix-cache hits with a drafter (vllm-project/vllm#38182: 21 "
                f"points, #51250: all): without the {percent(hit)} of your profile the first token "
                f"comes {lost_s / MILLI:.0f} ms later and the request ends {_factor(gain)} as "
                "fast. "
                "Compare the hit rate before and after."
            ),
        )
    ]
