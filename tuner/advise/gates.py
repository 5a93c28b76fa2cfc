"""``--fail-if``: a comparison over a recommendation, for scripts and pipelines."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from tuner.errors import FindingError, InputError
from tuner.frozen import dataclass
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation
from tuner.units import milliseconds

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_EXPRESSION = re.compile(r"\s*([a-z_0-9]+)\s*(<=|>=|==|<|>)\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*")


def _best(item: Recommendation) -> Prediction:
    return item.configs[0]


def _tpot_ms(item: Recommendation) -> float | None:
    tpot = _best(item).tpot_s
    return None if tpot is None else milliseconds(tpot.mean)


#: What may be compared: the best configuration's numbers, plain decoding included.
QUANTITIES: dict[str, Callable[[Recommendation], float | None]] = {
    "speedup": lambda item: _best(item).speedup.mean,
    "speedup_p10": lambda item: _best(item).speedup.p10,
    "tpot_ms": _tpot_ms,
    "output_tok_s": lambda item: _best(item).output_tok_s,
    "acceptance_length": lambda item: _best(item).acceptance_length.mean,
    "confidence": lambda item: item.decision.confidence,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One comparison; it fails the run where it holds."""

    quantity: str
    comparison: str
    limit: float

    def check(self, found: Sequence[Recommendation]) -> None:
        """Raise when the comparison holds for any profile.

        Raises
        ------
        FindingError
            Names the profile, the value and the limit.
        """
        compare = _COMPARISONS[self.comparison]
        for item in found:
            value = QUANTITIES[self.quantity](item)
            if value is None or compare(value, self.limit):
                shown = "not known" if value is None else f"{value:.4g}"
                raise FindingError(
                    f"{item.profile}: {self.quantity} is {shown}, and --fail-if asks to fail at "
                    f"{self.quantity}{self.comparison}{self.limit:g}."
                )


def parse_gate(text: str) -> Gate:
    """Read ``quantity comparison number``.

    Raises
    ------
    InputError
        Names what may be compared.
    """
    match = _EXPRESSION.fullmatch(text)
    if match is None or match[1] not in QUANTITIES:
        raise InputError(
            f"--fail-if {text!r} is not understood: write quantity, comparison, number, such as "
            f"'speedup<1.1'; quantities are {', '.join(QUANTITIES)}."
        )
    try:
        limit = float(match[3])
    except ValueError:
        raise InputError(f"--fail-if {text!r}: {match[3]!r} is not a number.") from None
    return Gate(quantity=match[1], comparison=match[2], limit=limit)
