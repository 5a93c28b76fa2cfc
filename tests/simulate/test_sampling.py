"""Temperature, top-k and top-p against a slow reading of their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.simulate.sampling import SamplingSetting, reshape_rows


def by_definition(row: list[float], temperature: float, top_k: int | None, top_p: float):
    weights = [p ** (1.0 / temperature) if p > 0.0 else 0.0 for p in row]
    total = sum(weights)
    weights = [w / total for w in weights]
    order = sorted(range(len(row)), key=lambda i: (-weights[i], i))
    if top_k is not None:
        order = order[:top_k]
    kept, mass = [], 0.0
    whole = sum(weights[i] for i in order)
    for i in order:
        if mass >= top_p * whole:
            break
        kept.append(i)
        mass += weights[i]
    return [weights[i] / mass if i in kept else 0.0 for i in range(len(row))]


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    vocab=st.integers(1, 12),
    temperature=st.floats(0.3, 3.0),
    top_k=st.one_of(st.none(), st.integers(1, 15)),
    top_p=st.floats(0.05, 0.999),
)
def test_reshaping_follows_the_definition(
    seed: int, vocab: int, temperature: float, top_k: int | None, top_p: float
) -> None:
    row = np.random.default_rng(seed).dirichlet(np.full(vocab, 0.7))
    setting = SamplingSetting(temperature=temperature, top_k=top_k, top_p=top_p)
    shaped = reshape_rows(row, setting)
    np.testing.assert_allclose(
        shaped, by_definition(row.tolist(), temperature, top_k, top_p), atol=1e-9
    )
    assert shaped.sum() == pytest.approx(1.0)


def test_greedy_takes_the_first_of_equals() -> None:
    rows = np.array([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    shaped = reshape_rows(rows, SamplingSetting(temperature=0.0, top_p=0.5))
    assert shaped.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_impossible_tokens_stay_impossible_at_any_temperature() -> None:
    shaped = reshape_rows(np.array([0.5, 0.0, 0.5]), SamplingSetting(temperature=100.0))
    assert shaped.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
    ],
)
def test_impossible_settings_are_errors(bad: dict[str, float]) -> None:
    with pytest.raises(InputError):
        SamplingSetting(**bad)
