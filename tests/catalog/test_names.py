"""Names from strangers: an answer or the one error, never anything else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.catalog import drafters_for, find_accelerator, find_model
from tuner.catalog.names import base_key, match, nearest, split_variant
from tuner.errors import MissingDataError

PIECES = st.sampled_from(
    ["Llama", "-3.3", "-70B", "H100", "RTX", "/", " ", "-", "80GB", "FP8", "(", "gguf", "é", "\0"]
)
NAMES = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=6).map("".join))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(name=NAMES)
def test_any_name_is_found_or_missing(name: str) -> None:
    for find in (find_model, find_accelerator):
        try:
            find(name)
        except MissingDataError as problem:
            text = problem.message
            assert "not in the catalog" in text
    assert isinstance(drafters_for(name), tuple)


def test_an_ending_that_fits_several_fits_none() -> None:
    known = {"a/model-x": 1, "b/model-x": 1, "c/model-y": 1}
    assert match("model-x", known) is None
    assert match("MODEL-Y", known) == "c/model-y"
    assert match("A/Model-X", known) == "a/model-x"


@pytest.mark.parametrize(
    ("name", "base", "dtype"),
    [
        ("org/Model-FP8", "org/Model", "fp8"),
        ("Model-FP8-dynamic", "Model", "fp8"),
        ("Model-NVFP4", "Model", "nvfp4"),
        ("Model-GPTQ-Int8", "Model", "gptq"),
        ("Model-quantized.w8a8", "Model", "int8"),
        ("Model-BF16", "Model", "bfloat16"),
        ("Model", "Model", None),
        ("FP8", "FP8", None),
    ],
)
def test_variants(name: str, base: str, dtype: str | None) -> None:
    assert split_variant(name) == (base, dtype)


def test_one_key_for_copies() -> None:
    names = ("meta-llama/Meta-Llama-3.1-8B-Instruct", "nvidia/Llama-3.1-8B-Instruct-FP8")
    assert len({base_key(name) for name in names}) == 1


def test_nearest_looks_at_the_end_of_an_id() -> None:
    known = ["a/Qwen3-8B", "b/Qwen3-32B", "c/gemma-3-4b-it"]
    assert nearest("someone/Qwen3-9B", known)[0] == "a/Qwen3-8B"
    assert nearest("zzzz", known) == []
