"""What is believed about the step-time parameters before any measurement is read.

Orders of magnitude from how the hardware works; the fit moves them. Values are factors or seconds,
standard deviations are of natural logarithms.
"""

from __future__ import annotations

#: Copies reach three quarters to nine tenths of the datasheet bandwidth; decode-shaped matmuls
#: about half of the measured matmul ceiling; a captured layer takes 10–20 µs when it moves nothing;
#: an engine spends about a millisecond a step on scheduling, sampling and detokenising.
ASSUMED_MEAN: dict[str, float] = {
    "bandwidth_efficiency": 0.80,
    "matrix_efficiency": 0.95,
    "matmul_efficiency": 0.55,
    "sharpness": 2.0,
    "layer_floor_s": 15e-6,
    "step_overhead_s": 0.8e-3,
    "token_overhead_s": 4e-6,
    "many_token_jump": 0.02,
    "many_token_slope": 0.004,
    "attention_reread": 0.02,
    "expert_efficiency": 0.85,
    "expert_spread": 0.6,
    "expert_evenness": 0.90,
    "collective_scale": 1.0,
    "draft_scale": 1.0,
    "draft_model_scale": 1.0,
    "draft_pass_overhead_s": 200e-6,
    "speculation_tax_s": 0.5e-3,
    "speculation_tax_share": 0.02,
    "speculation_token_s": 6e-6,
}

ASSUMED_SD: dict[str, float] = {
    "bandwidth_efficiency": 0.1,
    "matrix_efficiency": 0.1,
    "matmul_efficiency": 0.4,
    "sharpness": 0.3,
    "layer_floor_s": 0.5,
    "step_overhead_s": 0.5,
    "token_overhead_s": 0.7,
    "many_token_jump": 0.7,
    "many_token_slope": 0.7,
    "attention_reread": 0.7,
    "expert_efficiency": 0.25,
    "expert_spread": 0.3,
    "expert_evenness": 0.03,
    "collective_scale": 0.4,
    "draft_scale": 0.15,
    "draft_model_scale": 0.05,
    "draft_pass_overhead_s": 0.5,
    "speculation_tax_s": 0.6,
    "speculation_tax_share": 0.6,
    "speculation_token_s": 0.7,
}

#: smallest spread between setups that the prior claims, whatever the fit finds
SPREAD_FLOOR: dict[str, float] = {
    "bandwidth_efficiency": 0.10,
    "matrix_efficiency": 0.10,
    "matmul_efficiency": 0.20,
    "sharpness": 0.35,
    "layer_floor_s": 0.30,
    "step_overhead_s": 0.50,
    "token_overhead_s": 0.50,
    "many_token_jump": 0.80,
    "many_token_slope": 0.60,
    "attention_reread": 0.80,
    "expert_efficiency": 0.15,
    "expert_spread": 0.20,
    "expert_evenness": 0.06,
    "collective_scale": 0.35,
    "draft_scale": 0.25,
    "draft_model_scale": 0.40,
    "draft_pass_overhead_s": 0.45,
    "speculation_tax_s": 0.70,
    "speculation_tax_share": 0.60,
    "speculation_token_s": 0.50,
}

#: standard deviation of the shift of one level (engine, device, format …) before anything is seen
LEVEL_SD: dict[str, float] = {
    "bandwidth_efficiency": 0.10,
    "matrix_efficiency": 0.15,
    "matmul_efficiency": 0.25,
    "sharpness": 0.15,
    "layer_floor_s": 0.30,
    "step_overhead_s": 0.40,
    "token_overhead_s": 0.40,
    "many_token_jump": 0.50,
    "many_token_slope": 0.50,
    "attention_reread": 0.50,
    "expert_efficiency": 0.25,
    "expert_spread": 0.20,
    "expert_evenness": 0.05,
    "collective_scale": 0.30,
    "draft_scale": 0.15,
    "draft_model_scale": 0.10,
    "draft_pass_overhead_s": 0.35,
    "speculation_tax_s": 0.50,
    "speculation_tax_share": 0.40,
    "speculation_token_s": 0.40,
}

#: Several tokens through the vector kernels of quantised formats, through Apple's and integrated
#: GPUs and through CPUs cost a good part of a token each; a consumer card's matrix units are
#: smaller; latent attention and experts are more kernels a layer. TensorRT-LLM fuses all-reduces
#: with norms and schedules a step while the last one runs; llama.cpp runs its steps one after the
#: other on one thread, so that speculation takes away no overlap of scheduler and device.
ASSUMED_LEVELS: dict[str, dict[str, float]] = {
    "engine:llamacpp": {"speculation_tax_s": 0.25},
    "engine:trtllm": {"step_overhead_s": 0.5, "layer_floor_s": 0.7},
    "device:consumer_gpu": {"many_token_slope": 3.0},
    "device:apple": {"many_token_slope": 20.0, "layer_floor_s": 2.0},
    "device:integrated": {"many_token_slope": 20.0},
    "device:cpu": {"many_token_slope": 60.0, "many_token_jump": 10.0},
    "device:npu": {"layer_floor_s": 2.0, "step_overhead_s": 2.0},
    "weights:gguf": {"many_token_slope": 4.0},
    "weights:gguf_wide": {"many_token_slope": 2.0},
    "layers:moe": {"layer_floor_s": 2.0},
    "layers:latent": {"layer_floor_s": 2.0},
    "layers:linear": {"layer_floor_s": 1.5},
}
