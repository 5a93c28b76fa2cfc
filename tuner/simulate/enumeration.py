"""The exact law of what the sampler emits, by visiting every outcome of the reference loop.

The loop itself is run, not a formula about it: a source of chance that remembers its trail of
decisions takes each branch once and multiplies the probabilities.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tuner.simulate.models import FloatArray, IntArray, NextToken, RowArray, check_pair, last_tokens
from tuner.simulate.reference import Step, speculative_step
from tuner.simulate.rules import EXACT, Recipe

StepRule = Callable[[tuple[int, ...], "Branches"], Step]


@dataclass(slots=True)
class Branches:
    """A source of chance that visits every outcome: run, then call :meth:`advance`, until False."""

    #: for each decision taken so far: the possible (outcome, probability) pairs still to take
    trail: list[list[tuple[int, float]]] = field(default_factory=list)
    depth: int = 0
    weight: float = 1.0

    def choose(self, options: list[tuple[int, float]]) -> int:
        """Take the current branch of this decision."""
        if self.depth == len(self.trail):
            self.trail.append(options)
        outcome, probability = self.trail[self.depth][-1]
        self.depth += 1
        self.weight *= probability
        return outcome

    def token(self, row: RowArray) -> int:
        """Branch over the tokens of positive probability."""
        if self.depth < len(self.trail):
            return self.choose([])
        return self.choose([(i, float(row[i])) for i in np.flatnonzero(row).tolist()])

    def coin(self, probability: float) -> bool:
        """Branch over yes and no, where both are possible."""
        options = [(1, probability), (0, 1.0 - probability)]
        return bool(self.choose([option for option in options if option[1] > 0.0]))

    def advance(self) -> bool:
        """Go to the next branch; False when all are done."""
        while self.trail:
            self.trail[-1].pop()
            if self.trail[-1]:
                self.depth, self.weight = 0, 1.0
                return True
            self.trail.pop()
        return False


class Remembered:
    """A model that computes each context once; enumeration asks for the same ones often."""

    def __init__(self, model: NextToken) -> None:
        self.vocab_size = model.vocab_size
        self.order = model.order
        self._model = model
        self._rows: dict[bytes, RowArray] = {}

    def probs(self, windows: IntArray) -> RowArray:
        """Return the distribution of one window; see :class:`NextToken`."""
        key = windows.tobytes()
        if key not in self._rows:
            self._rows[key] = np.asarray(self._model.probs(windows), dtype=np.float64)
        return self._rows[key]


StepLaw = dict[tuple[tuple[int, ...], tuple[int, ...]], float]


def step_law(context: tuple[int, ...], window: int, rule: StepRule) -> StepLaw:
    """Return the chance of each (emitted tokens, last ``window`` tokens seen next)."""
    law: StepLaw = {}
    branches = Branches()
    while True:
        step = rule(context, branches)
        seen = step.context[len(step.context) - window :]
        law[step.emitted, seen] = law.get((step.emitted, seen), 0.0) + branches.weight
        if not branches.advance():
            return law


def output_law(
    target: NextToken,
    drafter: NextToken,
    *,
    num_speculative_tokens: int,
    length: int,
    context: tuple[int, ...] = (),
    recipe: Recipe = EXACT,
) -> FloatArray:
    """Return the joint law of the first ``length`` emitted tokens, across the borders of steps.

    Parameters
    ----------
    target, drafter : models over one vocabulary of size V; V ** num_speculative_tokens is visited
    num_speculative_tokens : drafts in a step
    length : emitted tokens that are looked at
    context : where decoding starts
    recipe : the exact rule, or a faulty one

    Returns
    -------
    (V, ..., V) floats with ``length`` axes and sum 1
    """
    check_pair(target, drafter)
    target, drafter = Remembered(target), Remembered(drafter)

    def rule(seen: tuple[int, ...], branches: Branches) -> Step:
        return speculative_step(seen, target, drafter, num_speculative_tokens, branches, recipe)

    return law_of_rule(
        rule,
        vocab_size=target.vocab_size,
        window=max(target.order, drafter.order),
        length=length,
        context=context,
    )


def law_of_rule(
    rule: StepRule, *, vocab_size: int, window: int, length: int, context: tuple[int, ...] = ()
) -> FloatArray:
    """Return the joint law of the first ``length`` tokens that repeated steps of ``rule`` emit."""
    start = tuple(last_tokens(np.array(context, dtype=np.int64), window).tolist())
    known: dict[tuple[int, ...], StepLaw] = {}
    law = np.zeros((vocab_size,) * length)
    border: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {((), start): 1.0}
    while border:
        later: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (emitted, seen), weight in border.items():
            if seen not in known:
                known[seen] = step_law(seen, window, rule)
            for (more, seen_next), probability in known[seen].items():
                tokens = (emitted + more)[:length]
                if len(tokens) == length:
                    law[tokens] += weight * probability
                else:
                    state = (tokens, seen_next)
                    later[state] = later.get(state, 0.0) + weight * probability
        border = later
    return law


def target_law(target: NextToken, *, length: int, context: tuple[int, ...] = ()) -> FloatArray:
    """Return the target's own joint law of the next ``length`` tokens, shape (V,) * length."""
    law = np.ones((target.vocab_size,) * length)
    for depth in range(length):
        for before in itertools.product(range(target.vocab_size), repeat=depth):
            tokens = np.array((*context, *before), dtype=np.int64)
            row = np.asarray(target.probs(last_tokens(tokens, target.order)), dtype=np.float64)
            law[before] *= row.reshape((-1,) + (1,) * (length - depth - 1))
    return law


def total_variation(first: FloatArray, second: FloatArray) -> float:
    """Return half the sum of absolute differences of two laws of one shape."""
    return float(0.5 * np.abs(first - second).sum())
