"""The models against their definitions, written out slowly."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tuner.errors import InputError
from tuner.simulate.mlp import random_mlp
from tuner.simulate.models import last_tokens, random_table, tabulate
from tuner.simulate.ngram import NGramModel, text_of, text_tokens, windows_of
from tuner.simulate.pairs import drafter_with_acceptance, perturbed


def witten_bell(text: list[int], vocab: int, context: list[int], token: int) -> float:
    """The probability of one token by recursion over shorter contexts."""
    m = len(context)
    padded = [0] * m + text
    following = Counter(padded[i + m] for i in range(len(text)) if padded[i : i + m] == context)
    lower = 1.0 / vocab if m == 0 else witten_bell(text, vocab, context[1:], token)
    if not following:
        return lower
    kinds, total = len(following), sum(following.values())
    return (following[token] + kinds * lower) / (total + kinds)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_ngram_rows_follow_witten_bell(order: int) -> None:
    rng = np.random.default_rng(order)
    text = rng.integers(4, size=60)
    model = NGramModel(text, 4, order)
    windows = rng.integers(4, size=(25, order))
    rows = model.probs(windows)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    for window, row in zip(windows.tolist(), rows, strict=True):
        expected = [witten_bell(text.tolist(), 4, window, token) for token in range(4)]
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_ngram_search_and_dense_numbering_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = np.random.default_rng(1).integers(5, size=300)
    windows = np.random.default_rng(2).integers(5, size=(50, 3))
    dense = NGramModel(text, 5, 3).probs(windows)
    monkeypatch.setattr("tuner.simulate.ngram._MAX_DENSE", 0)
    assert (NGramModel(text, 5, 3).probs(windows) == dense).all()


def test_mlp_is_the_network_written_out() -> None:
    model = random_mlp(np.random.default_rng(0), vocab_size=5, order=2, hidden_size=3)
    for window in np.ndindex(5, 5):
        hidden = [
            max(sum(model.embedding[p, window[p], h] for p in range(2)) + model.hidden_bias[h], 0)
            for h in range(3)
        ]
        logits = [
            sum(hidden[h] * model.output[h, v] for h in range(3)) + model.output_bias[v]
            for v in range(5)
        ]
        weights = [math.exp(value) for value in logits]
        expected = [weight / sum(weights) for weight in weights]
        np.testing.assert_allclose(model.probs(np.array(window)), expected, rtol=1e-12)


def test_mlp_with_large_logits_is_safe() -> None:
    model = random_mlp(
        np.random.default_rng(0), vocab_size=5, order=2, hidden_size=3, sharpness=1e4
    )
    rows = model.probs(np.array([[0, 1], [2, 3]]))
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


def test_shapes_of_leading_axes_are_kept() -> None:
    rng = np.random.default_rng(0)
    text = rng.integers(6, size=100)
    for model in (
        random_table(rng, 6, 2),
        NGramModel(text, 6, 2),
        random_mlp(rng, vocab_size=6, order=2, hidden_size=4),
    ):
        windows = rng.integers(6, size=(3, 4, 2))
        rows = model.probs(windows)
        assert rows.shape == (3, 4, 6)
        np.testing.assert_allclose(rows[1, 2], model.probs(windows[1, 2]), rtol=1e-12)


def test_tabulated_model_is_the_same_model() -> None:
    rng = np.random.default_rng(0)
    model = random_mlp(rng, vocab_size=4, order=3, hidden_size=5)
    windows = rng.integers(4, size=(30, 3))
    np.testing.assert_allclose(tabulate(model).probs(windows), model.probs(windows))


def test_short_contexts_are_filled_with_token_0() -> None:
    assert last_tokens(np.array([7]), 3).tolist() == [0, 0, 7]
    assert last_tokens(np.array([7, 8, 9]), 2).tolist() == [8, 9]
    assert windows_of(np.array([5, 6, 7]), 2).tolist() == [[0, 0], [0, 5], [5, 6]]


def test_text_round_trip() -> None:
    tokens, alphabet = text_tokens("to be or not")
    assert text_of(tokens, alphabet) == "to be or not"
    with pytest.raises(InputError):
        text_tokens("")


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 1.0])
def test_drafter_of_a_wanted_acceptance(rate: float) -> None:
    target = random_table(np.random.default_rng(0), 20, 1)
    drafter = drafter_with_acceptance(target, rate)
    overlap = np.minimum(target.rows, drafter.rows).sum(axis=1)
    np.testing.assert_allclose(overlap, rate, rtol=1e-12)


def test_acceptance_that_cannot_be_reached_is_an_error() -> None:
    target = random_table(np.random.default_rng(0), 2, 0)
    with pytest.raises(InputError, match="cannot be reached"):
        drafter_with_acceptance(target, 0.0)
    with pytest.raises(InputError, match="between 0 and 1"):
        drafter_with_acceptance(target, 1.5)


def test_more_noise_is_a_worse_drafter() -> None:
    target = random_table(np.random.default_rng(0), 20, 1)
    overlaps = [
        np.minimum(target.rows, perturbed(target, size, np.random.default_rng(1)).rows).sum()
        for size in (0.0, 0.1, 0.5, 2.0)
    ]
    assert overlaps == sorted(overlaps, reverse=True)
    assert overlaps[0] == pytest.approx(20.0)
