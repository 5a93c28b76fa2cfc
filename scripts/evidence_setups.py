"""Measurements of one setup brought together: speculative next to plain, τ next to speed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scripts.evidence_rows import MeasuredRow
from tuner.records.methods import Engine, Method

#: metrics of speed, +1 = more is faster
SPEED_METRICS: dict[str, int] = {
    "output_tok_s": 1,
    "tpot_ms": -1,
    "e2e_ms": -1,
}
#: metrics that state the ratio to plain decoding
RATIO_METRICS = ("speedup", "throughput_ratio")
#: what the regret of a choice can be computed from, in the order of preference
CHOICE_METRICS: dict[str, int] = {
    "output_tok_s": 1,
    "speedup": 1,
    "throughput_ratio": 1,
    "tpot_ms": -1,
}

SetupKey = tuple[str, ...]
_SETUP_COLUMNS = (
    "source",
    "sweep",
    "target_model",
    "draft_model",
    "method",
    "engine",
    "gpu",
    "task",
    "temperature",
    "batch",
    "context_len",
)
_CONFIG_COLUMNS = (
    "rate",
    "dtype",
    "n_gpus",
    "draft_len_k",
    "num_steps",
    "topk",
    "num_draft_tokens",
    "tree",
)


def setup_key(row: MeasuredRow) -> SetupKey:
    """Return what must agree within a cell, as the file spells it."""
    return tuple(row.raw[column] for column in _SETUP_COLUMNS)


def config_key(row: MeasuredRow) -> SetupKey:
    """Return the setup with K or the tree, and with what a cell may mix (rate, types, devices)."""
    return setup_key(row) + tuple(row.raw[column] for column in _CONFIG_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One speculative configuration that was measured, with all that is known about its run."""

    #: the row that names the setup
    row: MeasuredRow
    #: speculative speed over plain speed; None without a plain counterpart
    speedup: float | None
    #: τ of this configuration in this setup, bonus included
    acceptance_length: float | None
    #: speed in tokens a second, all sequences, where stated (the repeats' mean)
    output_tok_s: float | None
    #: time per output token in seconds, where stated
    tpot_s: float | None
    #: plain decoding in the same setup
    plain_output_tok_s: float | None
    plain_tpot_s: float | None
    #: ids of the rows used
    ids: tuple[str, ...]
    #: end to end with prefill rather than decoding alone
    is_end_to_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One setup with at least two measured K."""

    key: SetupKey
    row: MeasuredRow
    metric: str
    #: K → speed (any unit; comparable inside the cell)
    speed: dict[int, float]
    #: K → τ where measured
    acceptance_length: dict[int, float]
    #: K → speed over plain, where a plain run stands beside it
    speedup: dict[int, float]
    #: K → relative spread of repeated measurements (highest ÷ lowest − 1), where repeated
    repeat_spread: dict[int, float]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _group(
    rows: Iterable[MeasuredRow], key: Callable[[MeasuredRow], SetupKey]
) -> dict[SetupKey, list[MeasuredRow]]:
    groups: dict[SetupKey, list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def acceptance_length_of(rows: Iterable[MeasuredRow], k: int | None) -> float | None:
    """Return τ from the rows of one run: stated, summed over positions, or from accepted ÷ drafted.

    ``alpha`` becomes τ = 1 + αK only where its note says accepted ÷ drafted and K is known.
    """
    rows = list(rows)
    stated = [row.value for row in rows if row.metric == "tau"]
    drafted = [row.value for row in rows if row.metric == "alpha" and _is_drafted_share(row)]
    if stated and not (k and drafted and _counts_repeats(rows[0])):
        return _mean(stated)
    if not k:
        return None
    positions = {
        int(row.metric.removeprefix("survival_pos")): row.value
        for row in rows
        if re.fullmatch(r"survival_pos\d+", row.metric)
    }
    if all(at in positions for at in range(1, k + 1)):
        return 1.0 + sum(positions[at] for at in range(1, k + 1))
    if drafted:
        return 1.0 + k * sum(drafted) / len(drafted)
    return None


def _counts_repeats(row: MeasuredRow) -> bool:
    """Whether a stated τ is by verification, of which llama.cpp needs two for most drafts.

    On recurrent targets it verifies the accepted part of a draft model's tokens once more
    (``tuner.cost.rollback``), and its mean acceptance counts that as a draft of its own; accepted
    ÷ drafted does not.
    """
    return row.engine is Engine.LLAMACPP and row.method is Method.DRAFT_MODEL


def _is_drafted_share(row: MeasuredRow) -> bool:
    text = row.note.lower()
    if "p-min" in text or "p_min" in text or "pmin" in row.sweep.lower():
        return False  # drafts are cut short: K is not what was drafted
    return bool(
        re.search(r"accepted\s*(/|divided by)\s*(drafted|verified)|accept(ance)? rat", text)
    )


class AcceptanceRuns:
    """Rows about acceptance, found for a timed row by how closely the run agrees.

    Sources often state τ once for several timed rows: a context limit, a data type or a batch that
    the acceptance row leaves blank does not separate them. Two different stated values do.
    """

    _COLUMNS = ("context_len", "dtype", "n_gpus", "gpu", "batch", "rate", "temperature", "task")

    def __init__(self, rows: Iterable[MeasuredRow]) -> None:
        self._runs: dict[tuple[str, ...], list[MeasuredRow]] = defaultdict(list)
        for row in rows:
            if row.sweep and re.match(r"tau$|alpha$|survival_pos", row.metric):
                self._runs[self._key(row)].append(row)

    @staticmethod
    def _key(row: MeasuredRow) -> tuple[str, ...]:
        columns = (
            "source sweep target_model draft_model method draft_len_k num_steps topk "
            "num_draft_tokens"
        )
        return tuple(row.raw[column] for column in columns.split())

    def beside(self, row: MeasuredRow) -> float | None:
        """Return τ of the run that a timed row belongs to; None when no row speaks of it."""
        pool = self._runs.get(self._key(row), [])
        for column in self._COLUMNS:
            own = row.raw[column]
            same = [other for other in pool if other.raw[column] == own]
            blank = [other for other in pool if not other.raw[column]]
            whole = column == "task" and own and not re.search(r"overall|mean|all ", own)
            pool = same or ([] if whole else blank)
        return acceptance_length_of(pool, row.k)


class PlainRuns:
    """Plain decoding runs, found for a speculative row by how closely the setup agrees."""

    #: columns given up one after the other; the source, sweep, target and batch always agree
    _ORDER = ("dtype", "n_gpus", "gpu", "engine", "context_len", "temperature", "rate", "task")

    def __init__(self, rows: Iterable[MeasuredRow]) -> None:
        self._by_sweep: dict[tuple[str, str], list[MeasuredRow]] = defaultdict(list)
        for row in rows:
            if row.metric.startswith("baseline_"):
                self._by_sweep[row.source, row.sweep].append(row)

    def beside(self, row: MeasuredRow) -> float | None:
        """Return the plain value of the row's metric in the same setup, repeats averaged."""
        named = re.search(r"baseline_sweep=(\S+?)(?:;|$)", row.note)
        pool = [
            plain
            for plain in self._by_sweep.get(
                (row.source, named.group(1) if named else row.sweep), ()
            )
            if plain.metric == f"baseline_{row.metric}"
            and plain.raw["target_model"] == row.raw["target_model"]
            and plain.raw["batch"] == row.raw["batch"]
        ]
        if not named and not row.sweep and not row.task_raw and len(pool) > 1:
            return None
        for column in self._ORDER:
            same = [plain for plain in pool if plain.raw[column] == row.raw[column]]
            if same:
                pool = same
            elif len({plain.raw[column] for plain in pool if plain.raw[column]}) > 1:
                return None  # several plain runs, none of this setup
            elif column in ("task", "rate", "temperature") and any(
                plain.raw[column] and row.raw[column] for plain in pool
            ):
                return None
        return _mean([plain.value for plain in pool])


def speed_rows(rows: Sequence[MeasuredRow], *, static_only: bool = True) -> list[SpeedRow]:
    """Return every speculative configuration with a measured speed or ratio, one a configuration.

    Chains and trees; rows with a ``use`` remark are left out. Where a source states both the
    speeds and their ratio, the ratio is taken from the speeds.
    """
    used = [row for row in rows if not row.use and not row.is_plain]
    used = [row for row in used if not row.metric.startswith("baseline_")]
    if static_only:
        used = [row for row in used if row.is_static]
    plain = PlainRuns(row for row in rows if not row.use)
    accepted = AcceptanceRuns(used)
    found = []
    for group in _group(used, config_key).values():
        timed = [row for row in group if row.metric in SPEED_METRICS]
        stated = [row.value for row in group if row.metric in RATIO_METRICS]
        if not timed and not stated:
            continue
        ratios = []
        for row in timed:
            base = plain.beside(row)
            if base:
                ratio = row.value / base
                ratios.append(ratio if SPEED_METRICS[row.metric] > 0 else 1.0 / ratio)
        first = (timed or [row for row in group if row.metric in RATIO_METRICS])[0]
        notes = " ".join(row.note.lower() for row in group)
        found.append(
            SpeedRow(
                row=first,
                speedup=_mean(ratios) or _mean(stated),
                acceptance_length=acceptance_length_of(group, first.k) or accepted.beside(first),
                output_tok_s=_mean([row.value for row in timed if row.metric == "output_tok_s"]),
                tpot_s=_milli(_mean([row.value for row in timed if row.metric == "tpot_ms"])),
                plain_output_tok_s=_plain_of(plain, timed, "output_tok_s"),
                plain_tpot_s=_milli(_plain_of(plain, timed, "tpot_ms")),
                ids=tuple(row.id for row in group),
                is_end_to_end="prefill" in notes or any(row.metric == "e2e_ms" for row in timed),
            )
        )
    return found


def _milli(value: float | None) -> float | None:
    return None if value is None else value / 1e3


def _plain_of(plain: PlainRuns, timed: Sequence[MeasuredRow], metric: str) -> float | None:
    return next((plain.beside(row) for row in timed if row.metric == metric), None)


def is_chain(row: MeasuredRow) -> bool:
    """Return whether the row is a chain for the choice of K: SGLang's topk is 1 or not stated."""
    topk = row.raw["topk"]
    return not (topk and float(topk) > 1)


def cells(rows: Sequence[MeasuredRow]) -> list[Cell]:
    """Return the setups with at least two measured K ≥ 1 of a static chain, ``use`` empty."""
    used = [
        row
        for row in rows
        if not row.use
        and row.is_static
        and not row.is_plain
        and is_chain(row)
        and not row.metric.startswith("baseline_")
    ]
    ratio: dict[SetupKey, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    accepted = AcceptanceRuns(used)
    for fast in speed_rows(rows):
        if fast.speedup is not None and fast.row.k and is_chain(fast.row):
            ratio[setup_key(fast.row)][fast.row.k].append(fast.speedup)
    found: list[Cell] = []
    for key, group in _group(used, setup_key).items():
        cell = _cell(key, group, ratio.get(key, {}), accepted)
        if cell is not None:
            found.append(cell)
    return found


def _cell(
    key: SetupKey,
    group: list[MeasuredRow],
    ratio: dict[int, list[float]],
    accepted: AcceptanceRuns,
) -> Cell | None:
    for metric, sign in CHOICE_METRICS.items():
        values: dict[int, list[float]] = defaultdict(list)
        for row in group:
            if row.metric == metric and row.k:
                values[row.k].append(row.value)
        if len(values) < 2:
            continue
        speed = {k: sum(v) / len(v) for k, v in sorted(values.items())}
        lengths = {}
        for k in values:
            own = [row for row in group if row.k == k]
            length = acceptance_length_of(own, k) or accepted.beside(own[0])
            if length is not None:
                lengths[k] = length
        return Cell(
            key=key,
            row=next(row for row in group if row.metric == metric and row.k),
            metric=metric,
            speed=speed if sign > 0 else {k: 1.0 / value for k, value in speed.items()},
            acceptance_length=lengths,
            speedup={k: sum(v) / len(v) for k, v in sorted(ratio.items())},
            repeat_spread={
                k: max(v) / min(v) - 1.0 for k, v in values.items() if len(v) > 1 and min(v) > 0
            },
        )
    return None
