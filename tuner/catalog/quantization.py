"""Number format of a checkpoint's weights, by the spelling that profiles use."""

from __future__ import annotations

from tuner.catalog.facts import Facts

_DTYPES = {
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float32",
    "half": "float16",
    "float8_e4m3fn": "fp8",
}

#: ``quantization_config.quant_method`` or ``quant_algo`` → profile spelling
_METHODS = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "awq": "awq",
    "gptq": "gptq",
    "auto-round": "gptq",
    "auto_round": "gptq",
    "w8a8_int8": "int8",
    "w4a16": "awq",
    "w4a16_awq": "awq",
    "w4a8": "awq",
}


def native_dtype(outer: Facts, facts: Facts) -> str:
    """Return the format of the weights as stored; bfloat16 where the file does not say."""
    for part in (outer, facts):
        if section := part.section("quantization_config", "compression_config"):
            return _quantized(section)
    stated = facts.text("dtype", "torch_dtype") or outer.text("dtype", "torch_dtype") or ""
    return _DTYPES.get(stated.removeprefix("torch."), "bfloat16")


def _quantized(section: Facts) -> str:
    algorithm = (section.text("quant_algo") or "").casefold()
    method = (section.text("quant_method") or "").casefold()
    for name in (algorithm, method):
        if name in _METHODS:
            return _METHODS[name]
    if "nvfp4" in algorithm or "fp4" in algorithm:
        return "nvfp4"
    if "fp8" in algorithm:
        return "fp8"
    if method == "bitsandbytes":
        return "int8" if section.flag("load_in_8bit") else "awq"
    if method == "compressed-tensors":
        return _compressed(section)
    return "bfloat16"


def _compressed(section: Facts) -> str:
    """Return the format of the first group of a compressed-tensors checkpoint."""
    groups = section.section("config_groups")
    for name in groups.values if groups else ():
        group = groups.section(name) if groups else None
        weights = group.section("weights") if group else None
        if group is None or weights is None:
            continue
        layout = (group.text("format") or section.text("format") or "").casefold()
        if "mxfp4" in layout:
            return "mxfp4"
        if "nvfp4" in layout:
            return "nvfp4"
        bits = weights.integer("num_bits", maximum=64)
        if bits == 8:
            return "fp8" if weights.text("type") == "float" else "int8"
        if bits == 4:
            return "nvfp4" if weights.text("type") == "float" else "int4"
    return "fp8" if "float" in (section.text("format") or "") else "int8"
