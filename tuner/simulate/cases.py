"""The small models that the proof runs on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.mlp import perturbed_mlp, random_mlp
from tuner.simulate.models import NextToken, TableModel, random_table
from tuner.simulate.pairs import perturbed
from tuner.simulate.sampling import Reshaped, SamplingSetting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A target and a drafter over a small vocabulary, and where decoding starts."""

    name: str
    target: NextToken
    drafter: NextToken
    contexts: tuple[tuple[int, ...], ...] = ((),)


def standard_cases(vocab_size: int, rng: np.random.Generator) -> tuple[Case, ...]:
    """Return the models of the proof: without context, with one or two tokens, greedy."""
    independent = random_table(rng, vocab_size, 0)
    markov = random_table(rng, vocab_size, 1, sharpness=1.5)
    close = perturbed(markov, 1.0, rng)
    longer = random_table(rng, vocab_size, 2, sharpness=1.5)
    network = random_mlp(rng, vocab_size=vocab_size, order=2, hidden_size=8, sharpness=1.5)
    rough = perturbed_mlp(network, 0.5, rng)
    shaped = SamplingSetting(temperature=0.8, top_k=max(vocab_size - 1, 1), top_p=0.95)
    greedy = SamplingSetting(temperature=0.0)
    one = ((0,), (vocab_size - 1,))
    two = ((0, 0), (vocab_size - 1, 1))
    return (
        Case(
            name="independent tokens",
            target=independent,
            drafter=random_table(rng, vocab_size, 0),
        ),
        Case(name="Markov 1, drafter Markov 1", target=markov, drafter=close, contexts=one),
        Case(
            name="Markov 2, drafter without context",
            target=longer,
            drafter=random_table(rng, vocab_size, 0),
            contexts=two,
        ),
        Case(name="MLP, drafter perturbed MLP", target=network, drafter=rough, contexts=two),
        Case(
            name="T 0.8, top-k, top-p on both",
            target=Reshaped(longer, shaped),
            drafter=Reshaped(perturbed(longer, 0.7, rng), shaped),
            contexts=two,
        ),
        Case(
            name="T 0 (greedy)",
            target=Reshaped(network, greedy),
            drafter=Reshaped(perturbed_mlp(network, 2.0, rng), greedy),
            contexts=two,
        ),
    )


def fault_case() -> Case:
    """Return a pair of Markov models in which each planted fault moves the law far.

    With N = 2 the first three tokens after token 0 have a total variation from the target's law
    of .29 (residual), .30 (bonus), .57 (ratio) and .32 (rollback). Found by a random search for
    the largest smallest one.
    """
    target = np.array([[0.05, 0.45, 0.50], [0.90, 0.05, 0.05], [0.05, 0.60, 0.35]])
    drafter = np.array([[0.45, 0.05, 0.50], [0.35, 0.40, 0.25], [0.05, 0.90, 0.05]])
    return Case(
        name="Markov 1, far drafter",
        target=TableModel(target),
        drafter=TableModel(drafter),
        contexts=((0,),),
    )
