"""What a weight or cache format means in bytes, in arithmetic, and in kernel habits.

Sources: block layouts of ``ggml-quants`` (llama.cpp b11434) and the average bits that
``llama-quantize --help`` states for mixed files; OCP microscaling formats (MXFP4: 32 values share
one byte); NVFP4 (16 values share one byte); AWQ and GPTQ with groups of 128 (a 16-bit scale and a
4-bit zero point each).
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from tuner.errors import InputError
from tuner.frozen import dataclass
from tuner.units import BITS_PER_BYTE


class WeightClass(StrEnum):
    """Families of formats whose kernels behave alike when several tokens are verified."""

    PLAIN = "plain"
    FP8 = "fp8"
    FOUR_BIT = "four_bit"
    GGUF = "gguf"
    """Types below eight bits: unpacking costs arithmetic for every token."""
    GGUF_WIDE = "gguf_wide"
    """Q8_0: values are used as they stand."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """One way to store the matrices of a model."""

    #: bytes a weight, block scales included
    bytes_per_weight: float
    #: key into ``Accelerator.peak_flops_per_s`` of the arithmetic that the kernels use
    compute: str
    weight_class: WeightClass
    #: bytes a weight of the output head and the embeddings
    head_bytes_per_weight: float


#: bits a weight by GGUF type; the mixed files (…_S, _M, _L, _XL) are averages over a whole file
GGUF_BITS: dict[str, float] = {
    "F32": 32.0,
    "F16": 16.0,
    "BF16": 16.0,
    "Q8_0": 8.5,
    "Q6_K": 6.5625,
    "Q5_0": 5.5,
    "Q5_1": 6.0,
    "Q5_K": 5.68,
    "Q5_K_S": 5.54,
    "Q5_K_M": 5.69,
    "Q4_0": 4.55,
    "Q4_1": 5.05,
    "Q4_K": 4.85,
    "Q4_K_S": 4.58,
    "Q4_K_M": 4.85,
    "MXFP4": 4.25,
    "IQ4_XS": 4.36,
    "IQ4_NL": 4.56,
    "Q3_K": 3.91,
    "Q3_K_S": 3.5,
    "Q3_K_M": 3.91,
    "Q3_K_L": 4.27,
    "IQ3_XXS": 3.06,
    "IQ3_XS": 3.3,
    "IQ3_S": 3.44,
    "IQ3_M": 3.66,
    "Q2_K": 3.0,
    "IQ2_XXS": 2.06,
    "IQ2_XS": 2.31,
    "IQ2_S": 2.5,
    "IQ2_M": 2.7,
    "IQ1_S": 1.56,
    "IQ1_M": 1.75,
}

_PLAIN_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_ALIASES = {
    "fp32": "float32",
    "f32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "auto": "bfloat16",
    "w8a8": "int8",
    "int4": "awq",
    "w4a16": "gptq",
    "fp4": "nvfp4",
    "compressed-tensors": "gptq",
}
#: 4-bit values, a 16-bit scale and a 4-bit zero point for 128 of them
_GROUPED_FOUR_BIT_BYTES = 0.5 + 2.5 / 128.0
_MXFP4_BYTES = 0.5 + 1.0 / 32.0
_NVFP4_BYTES = 0.5 + 1.0 / 16.0
_HALF = 2.0


@lru_cache(maxsize=256)
def weight_format(dtype: str) -> WeightFormat:
    """Return what ``dtype`` means for bytes and arithmetic.

    Parameters
    ----------
    dtype
        Spelling of a profile ("bfloat16", "fp8", "gguf:Q4_K_M" …) or of a checkpoint
        ("bfloat16+fp8": the matrices are in the smaller format).

    Raises
    ------
    InputError
        When the spelling is not known.
    """
    text = dtype.strip().lower()
    if text.startswith("gguf"):
        return _gguf(text.partition(":")[2])
    for part in _parts_smallest_first(text):
        known = _plain_spelling(part)
        if known is not None:
            return known
    raise InputError(
        f"dtype {dtype!r} is not known; use bfloat16, float16, float32, fp8, int8, nvfp4, mxfp4, "
        "awq, gptq or gguf:TYPE"
    )


def kv_bytes_per_value(kv_dtype: str) -> float:
    """Return bytes of one cached value for a spelling such as "bfloat16", "fp8" or "q8_0"."""
    text = kv_dtype.strip().lower()
    if text in {"fp8", "fp8_e4m3", "fp8_e5m2", "int8"}:
        return 1.0
    if text.upper() in GGUF_BITS:
        return GGUF_BITS[text.upper()] / BITS_PER_BYTE
    return weight_format(kv_dtype).bytes_per_weight


def _parts_smallest_first(text: str) -> list[str]:
    parts = text.replace("/", "+").split("+")
    return list(reversed(parts)) if "+" in text else parts


def _plain_spelling(part: str) -> WeightFormat | None:
    name = _ALIASES.get(part, part)
    if name in _PLAIN_BYTES:
        size = _PLAIN_BYTES[name]
        return WeightFormat(size, "bfloat16", WeightClass.PLAIN, size)
    if name.startswith("fp8"):
        return WeightFormat(1.0, "fp8", WeightClass.FP8, _HALF)
    if name == "int8":
        return WeightFormat(1.0, "int8", WeightClass.FP8, _HALF)
    if name == "nvfp4":
        return WeightFormat(_NVFP4_BYTES, "fp4", WeightClass.FOUR_BIT, _HALF)
    if name == "mxfp4":
        return WeightFormat(_MXFP4_BYTES, "fp4", WeightClass.FOUR_BIT, _HALF)
    if name in {"awq", "gptq"}:
        return WeightFormat(_GROUPED_FOUR_BIT_BYTES, "bfloat16", WeightClass.FOUR_BIT, _HALF)
    return None


def _gguf(type_name: str) -> WeightFormat:
    name = type_name.upper().removeprefix("UD-")
    if name.endswith("_XL"):  # a publisher's mix; as the M mix of the same width (assumed)
        name = name.removesuffix("_XL") + "_M"
    bits = GGUF_BITS.get(name, GGUF_BITS.get(name.removesuffix("_M")))
    if bits is None:
        known = ", ".join(sorted(GGUF_BITS))
        raise InputError(f"GGUF type {type_name!r} is not known; known types: {known}")
    size = bits / BITS_PER_BYTE
    weight_class = WeightClass.GGUF
    if name in {"F32", "F16", "BF16"}:
        weight_class = WeightClass.PLAIN
    elif bits >= BITS_PER_BYTE:
        weight_class = WeightClass.GGUF_WIDE
    return WeightFormat(size, "bfloat16", weight_class, max(size, 6.5625 / BITS_PER_BYTE))
