"""Acceptance rules of engines that change the distribution of the output."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.methods import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyRule:
    """An engine's option that keeps drafts which the target would not have sampled."""

    #: the setting, as the engine spells it
    setting: str
    #: what it keeps
    keeps: str
    #: file and version that were read
    source: str


#: Of the newest releases known; llama.cpp b11434 has none. vLLM's typical acceptance
#: (posterior_threshold, posterior_alpha) went in 0.10.0, before the oldest release supported.
LOSSY_RULES: dict[Engine, LossyRule] = {
    Engine.VLLM: LossyRule(
        setting='rejection_sample_method "fly"',
        keeps="drafts that miss where the target is undecided (fly_entropy_threshold) and that the "
        "next drafts bear out (fly_window_size)",
        source="vllm/config/speculative.py, 0.33.0; Li et al. 2025, arXiv:2511.22972",
    ),
    Engine.SGLANG: LossyRule(
        setting="--speculative-accept-threshold-single and -acc below 1",
        keeps="drafts whose probability under the target exceeds the threshold, though the target "
        "would sample them less often",
        source="sglang/srt/arg_groups/fields, 0.5.23",
    ),
}
