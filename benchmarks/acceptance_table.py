"""Scores of the acceptance model as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.acceptance_cold import ColdScore
from benchmarks.acceptance_long import LongScore
from benchmarks.acceptance_temperature import TemperatureScore

_INTRODUCTION = """# Acceptance: the model and what it reaches

The tables are written by `python -m benchmarks.acceptance --write`. Figures are of data that the
fit behind them has not seen, but for the four constants of the temperature rules (below) and three
of the curve's law (run noise, its tail, the deviation of a position), which were chosen among some
35 settings on the nine curves of τ by K: those tables flatter a little.
`--measurements` and `--acceptance-by-k` score other files.

## The model

- **By position.** Three numbers a curve: `docs/decisions/0001-acceptance-by-position.md`.
- **Prior.** The level is linear in method, kind of target (dense, small or large active part),
  task, engine, size, draft share and context beyond training, with random offsets of target,
  drafter, recipe of drafters (owner and method), source, data set and source × data set. Variances
  come from the data; residuals, sources, drafters, recipes and targets have Student-t tails. Rows
  of one setup count as one cell; numbers read first-hand weigh 1, computed from traces .8, quoted
  .6, read off a chart .4. Only chains are pooled: trees of papers are another thing.
- **Interval.** Between-target, between-drafter, between-source and residual spread all stand in the
  standard deviation of ln τ of a setup that nobody measured.
- **Copied drafts** (n-gram, suffix): position 1 (is there a copy and does it start right) and later
  positions (does it go on) have a number each, so coverage and run length differ by task.
- **Update.** Observed lengths, rates by position, counts and served trees; binomial counts are
  thinned by a design effect of 4, because steps of one request resemble each other (assumed).
- **Temperature.** `tuner/acceptance/rules.py`: a family of next-token distributions gives α under
  each rule. Its four constants were chosen on the pairs of the last table together with the
  draft-sampling modes of vLLM PR 56724, so that table is not of unseen papers. A grid search with
  one paper left out, on the ratio rule alone, errs by 1.4 % (EAGLE), 3.2 % (EAGLE-2), 3.3 %
  (EAGLE-3) and 2.8 % (DFlash) on the paper left out. The ratio rule is taken for papers, one-hot
  for engines whose drafts are greedy by default.

## What to keep in mind

- Each K of the file of τ by K is a run of its own: the floor below is what a curve's own points
  leave when all of them are fitted.
- A target left out is predicted with its series (source and data set) known from other targets; a
  source left out is predicted as a user's own setup would be.

"""


def document(
    long: Sequence[LongScore],
    cold: Sequence[ColdScore],
    temperature: Sequence[TemperatureScore],
) -> str:
    """Return the documentation page."""
    return _INTRODUCTION + tables(long, cold, temperature) + "\n"


def tables(
    long: Sequence[LongScore],
    cold: Sequence[ColdScore],
    temperature: Sequence[TemperatureScore],
) -> str:
    """Return all tables."""
    return "\n".join([*(_long(item) for item in long), _cold(cold), _temperature(temperature)])


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _long(item: LongScore) -> str:
    lengths = sorted(next(iter(item.mean.values())))
    rows = [
        [
            rule,
            *(_percent(by_k[k]) for k in lengths),
            *(_percent(item.median[rule][k]) for k in lengths),
        ]
        for rule, by_k in item.mean.items()
    ]
    head = ["rule", *(f"mean, K = {k}" for k in lengths), *(f"median, K = {k}" for k in lengths)]
    return f"## {item.what} ({item.curves} curves)\n\nAbsolute relative error of τ.\n\n" + _table(
        head, rows
    )


def _cold(items: Sequence[ColdScore]) -> str:
    rows = [
        [
            item.what, item.rule, str(item.chains), _percent(item.median), _percent(item.p90),
            _percent(item.median_by_source), _percent(item.coverage),
            _percent(item.coverage_by_source), f"{item.interval_score:.3f}",
            f"{item.interval_score_by_source:.3f}",
        ]
        for item in items
    ]  # fmt: skip
    head = [
        "left out", "rule", "chains", "median error", "90th percentile", "median, mean of sources",
        "in 80 % interval", "the same, mean of sources", "interval score",
        "the same, mean of sources",
    ]  # fmt: skip
    return "## τ of chains with nothing observed\n\n" + _table(head, rows)


def _temperature(items: Sequence[TemperatureScore]) -> str:
    rows = [
        [
            item.source, str(item.pairs), _percent(item.this_model),
            _percent(item.ratio_of_means), f"{item.mean_ratio:.3f}",
        ]
        for item in items
    ]  # fmt: skip
    head = ["source", "pairs", "median error", "ratio of other sources' means", "mean τ(1) ÷ τ(0)"]
    return "## Temperature 1 from temperature 0 alone\n\n" + _table(head, rows)
