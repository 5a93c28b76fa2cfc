"""Pairs of target and drafter that ``simulate`` and the lessons run, by kind and quality."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tuner.errors import InputError
from tuner.simulate.mlp import MLPModel, perturbed_mlp, random_mlp
from tuner.simulate.models import IntArray, NextToken, TableModel, random_table, tabulate
from tuner.simulate.ngram import NGramModel
from tuner.simulate.pairs import drafter_with_acceptance, perturbed
from tuner.simulate.sampling import Reshaped, SamplingSetting

#: largest table that a reshaped model is turned into
_MAX_TABLE_ROWS = 1 << 16


class ModelKind(StrEnum):
    """What the toy target is."""

    INDEPENDENT = "independent"
    MARKOV = "markov"
    MLP = "mlp"
    NGRAM = "ngram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How good the drafter is: exactly one of the three."""

    #: the exact rule accepts this share in every context (tables)
    acceptance_rate: float | None = None
    #: standard deviation of noise on the target's logits (tables) or output weights (MLP)
    noise: float | None = None
    #: tokens of context that an n-gram drafter sees
    order: int | None = None

    @property
    def label(self) -> str:
        """Short text for a table."""
        if self.acceptance_rate is not None:
            return f"α {self.acceptance_rate:g}"
        return f"noise {self.noise:g}" if self.noise is not None else f"order {self.order}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToyTarget:
    """A toy target, and what is needed to build drafters for it."""

    kind: ModelKind
    model: TableModel | MLPModel | NGramModel
    setting: SamplingSetting
    #: text that an n-gram target was fitted on
    tokens: IntArray | None = None

    def pair(self, quality: Quality, rng: np.random.Generator) -> tuple[NextToken, NextToken]:
        """Return target and drafter of this quality behind the sampling setting.

        Raises
        ------
        InputError
            If this kind of target has no drafter of this kind of quality.
        """
        drafter = _drafter(self, quality, rng)
        return _reshaped(self.model, self.setting), _reshaped(drafter, self.setting)


def toy_target(
    kind: ModelKind,
    *,
    vocab_size: int,
    order: int,
    setting: SamplingSetting,
    rng: np.random.Generator,
    tokens: IntArray | None = None,
) -> ToyTarget:
    """Return a target of this kind; an n-gram target is fitted on ``tokens``."""
    model: TableModel | MLPModel | NGramModel
    if kind is ModelKind.INDEPENDENT:
        model = random_table(rng, vocab_size, 0)
    elif kind is ModelKind.MARKOV:
        if vocab_size**order > _MAX_TABLE_ROWS:
            raise InputError(
                f"a table of {vocab_size} tokens and order {order} has more than "
                f"{_MAX_TABLE_ROWS:,} rows; take a smaller vocabulary or order, or an mlp."
            )
        model = random_table(rng, vocab_size, order, sharpness=1.5)
    elif kind is ModelKind.MLP:
        model = random_mlp(rng, vocab_size=vocab_size, order=order, hidden_size=32, sharpness=2.0)
    else:
        if tokens is None:
            raise InputError("an n-gram model needs a text.")
        model = NGramModel(tokens, vocab_size, order)
    return ToyTarget(kind=kind, model=model, setting=setting, tokens=tokens)


def _drafter(toy: ToyTarget, quality: Quality, rng: np.random.Generator) -> NextToken:
    target = toy.model
    if isinstance(target, TableModel) and quality.acceptance_rate is not None:
        return drafter_with_acceptance(target, quality.acceptance_rate)
    if isinstance(target, TableModel) and quality.noise is not None:
        return perturbed(target, quality.noise, rng)
    if isinstance(target, MLPModel) and quality.noise is not None:
        return perturbed_mlp(target, quality.noise, rng)
    if isinstance(target, NGramModel) and quality.order is not None and toy.tokens is not None:
        return NGramModel(toy.tokens, target.vocab_size, quality.order)
    raise InputError(
        f"a drafter of {quality.label} cannot be made for a target of kind {toy.kind}."
    )


def _reshaped(model: NextToken, setting: SamplingSetting) -> NextToken:
    """Return the model behind the setting; a table stays a table, which runs faster."""
    if setting.changes_nothing:
        return model
    shaped = Reshaped(model, setting)
    return tabulate(shaped) if isinstance(model, TableModel) else shaped
