"""Shapes from sizes alone: the catalog's most similar model, scaled."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.catalog import find_model, shape_from_sizes
from tuner.errors import InputError
from tuner.records.sources import Grade


def test_sizes_are_kept_and_graded_assumed() -> None:
    shape = shape_from_sizes(params_b=27, mtp_layers=1)
    assert shape.total_params == shape.active_params == 27e9
    assert shape.mtp_layers == 1
    assert not shape.is_moe
    assert shape.source is not None
    assert shape.source.grade is Grade.ASSUMED


@pytest.mark.parametrize("billions", [1.5, 8.03, 14.7, 32.8, 70.6, 405.0])
def test_a_known_size_gives_about_a_known_shape(billions: float) -> None:
    known = {
        1.5: "Qwen/Qwen2.5-1.5B-Instruct",
        8.03: "meta-llama/Llama-3.1-8B-Instruct",
        14.7: "Qwen/Qwen2.5-14B-Instruct",
        32.8: "Qwen/Qwen3-32B",
        70.6: "meta-llama/Llama-3.3-70B-Instruct",
        405.0: "meta-llama/Llama-3.1-405B",
    }[billions]
    shape, true = shape_from_sizes(params_b=billions), find_model(known)
    assert shape.n_layers == pytest.approx(true.n_layers, rel=0.35)
    assert shape.hidden_size == pytest.approx(true.hidden_size, rel=0.25)


def test_experts_follow_the_ratio() -> None:
    shape = shape_from_sizes(params_b=30, active_params_b=3)
    assert shape.is_moe
    assert (shape.total_params, shape.active_params) == (30e9, 3e9)
    assert 64 <= shape.n_experts <= 256


@settings(max_examples=150, deadline=None, derandomize=True)
@given(total=st.floats(0.05, 5_000), share=st.floats(0.005, 1.0), mtp=st.integers(0, 8))
def test_any_sizes_give_a_possible_shape(total: float, share: float, mtp: int) -> None:
    shape = shape_from_sizes(params_b=total, active_params_b=total * share, mtp_layers=mtp)
    assert shape.total_params == pytest.approx(total * 1e9)
    assert shape.active_params == pytest.approx(total * share * 1e9)
    assert shape.n_layers >= 1
    assert shape.hidden_size >= 128
    assert shape.n_heads >= shape.n_kv_heads >= 1
    assert shape.is_moe == (shape.n_experts > shape.experts_per_token > 0)
    assert shape.n_dense_layers <= shape.n_layers


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e6])
def test_impossible_sizes(value: float) -> None:
    with pytest.raises(InputError, match="params_b"):
        shape_from_sizes(params_b=value)
    with pytest.raises(InputError, match="active_params_b"):
        shape_from_sizes(params_b=10, active_params_b=value)


def test_more_active_than_total() -> None:
    with pytest.raises(InputError, match="larger"):
        shape_from_sizes(params_b=3, active_params_b=30)


@pytest.mark.parametrize("layers", [-1, 65, True])
def test_impossible_mtp(layers: int) -> None:
    with pytest.raises(InputError, match="mtp_layers"):
        shape_from_sizes(params_b=3, mtp_layers=layers)
