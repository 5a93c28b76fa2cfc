"""Rows of ``catalog`` that need more than the catalog: methods, engines, priors."""

from __future__ import annotations

from typing import Any

from tuner.acceptance.belief import believe
from tuner.catalog.methods import MethodInfo, all_methods
from tuner.catalog.priors import load_acceptance_prior, load_cost_prior
from tuner.engines import NEWEST_KNOWN, OLDEST_SUPPORTED, SUPPORT, TITLES, serves, serves_trees
from tuner.errors import MissingDataError
from tuner.nearest import nearest
from tuner.records.acceptance import AcceptanceQuery, TargetClass
from tuner.records.acceptance_prior import AcceptancePrior, PriorCell
from tuner.records.interval import Interval
from tuner.records.methods import DRAFT_KIND, DraftKind, Method, Task, VerifyRule

Row = dict[str, Any]

#: the case that priors are shown for: a dense target of 8 billion parameters, three draft tokens
REFERENCE_PARAMS = 8e9
REFERENCE_K = 3
_TEMPERATURES = (0.0, 1.0)


def method_rows(words: str = "") -> list[Row]:
    """Return the methods whose name or title holds the words, with the engines that serve each."""
    rows = [_method_row(info) for info in all_methods() if _is_meant(info, words)]
    if not rows:
        raise _unknown(words, [method.value for method in Method], "method")
    return rows


def engine_rows(words: str = "") -> list[Row]:
    """Return the engines that commands are written for, and what each serves."""
    rows = [
        {
            "engine": engine.value,
            "title": TITLES[engine],
            "newest_known": NEWEST_KNOWN[engine],
            "oldest_supported": OLDEST_SUPPORTED[engine],
            "methods": [
                {
                    "method": method.value,
                    "served": support.ok,
                    "since": support.since,
                    "trees": serves_trees(engine, method),
                    "reason": support.reason or None,
                    "source": support.source,
                }
                for method, support in SUPPORT[engine].items()
            ],
        }
        for engine in NEWEST_KNOWN
        if words.casefold() in f"{engine.value} {TITLES[engine]}".casefold()
    ]
    if not rows:
        raise _unknown(words, [engine.value for engine in NEWEST_KNOWN], "engine")
    return rows


def prior_rows(words: str = "") -> list[Row]:
    """Return what is believed about acceptance by method and task, and what it rests on."""
    prior = load_acceptance_prior()
    wanted = words.casefold().split()
    rows = [
        _prior_row(prior, cell)
        for cell in prior.cells
        if all(word in (cell.method.value, cell.task and cell.task.value) for word in wanted)
    ]
    if not rows:
        raise _no_prior(words, prior)
    return rows


def cost_prior_rows() -> list[Row]:
    """Return the levels of the step-time prior: how many timings each was fitted on."""
    prior = load_cost_prior()
    return [
        {
            "level": name,
            "n_measurements": level.n_measurements,
            "n_sources": level.n_sources,
        }
        for name, level in prior.levels.items()
    ]


def _is_meant(info: MethodInfo, words: str) -> bool:
    wanted = words.casefold()
    if wanted in {method.value for method in Method}:
        return info.method.value == wanted
    return wanted in f"{info.method.value} {info.title}".casefold()


def _method_row(info: MethodInfo) -> Row:
    return {
        "method": info.method.value,
        "title": info.title,
        "cost_kind": info.kind.value,
        "brief": info.brief,
        "needs": info.needs,
        "cost": info.cost,
        "limits": info.limits,
        "lossless": info.lossy_as_published is None,
        "lossy_as_published": info.lossy_as_published,
        "papers": [{"title": p.title, "reference": p.reference} for p in info.papers],
        "note": info.note,
        "engines": [
            {
                "engine": engine.value,
                "served": support.ok,
                "since": support.since,
                "reason": support.reason or None,
            }
            for engine in NEWEST_KNOWN
            for support in (serves(engine, None, info.method),)
        ],
    }


def _prior_row(prior: AcceptancePrior, cell: PriorCell) -> Row:
    row: Row = {
        "method": cell.method.value,
        "task": cell.task.value if cell.task else None,
        "n_measurements": cell.n_measurements,
        "n_sources": cell.n_sources,
        "sources": list(cell.sources),
        "evidence": list(cell.evidence),
    }
    for temperature in _TEMPERATURES:
        if cell.task is None:  # the model has a level for each task, and none for their mixture
            row[f"acceptance_length_t{temperature:g}"] = None
            continue
        length = _expected_length(prior, cell, cell.task, temperature)
        row[f"acceptance_length_t{temperature:g}"] = {
            "mean": length.mean,
            "p10": length.p10,
            "p90": length.p90,
        }
    return row


def _expected_length(
    prior: AcceptancePrior, cell: PriorCell, task: Task, temperature: float
) -> Interval:
    """Return the expected τ at K = 3 for the reference target."""
    query = AcceptanceQuery(
        method=cell.method,
        target=TargetClass(
            target_id=None, total_params=REFERENCE_PARAMS, active_params=REFERENCE_PARAMS
        ),
        task=task,
        temperature=temperature,
        rule=_verify_rule(cell.method, temperature),
        draft_params=0.6e9 if cell.method is Method.DRAFT_MODEL else None,
    )
    belief = believe(prior, query, max_k=REFERENCE_K)
    return Interval.lognormal(
        float(belief.length[REFERENCE_K]),
        float(belief.length_log_sd[REFERENCE_K]),
        lower=1.0,
        upper=REFERENCE_K + 1.0,
    )


def _verify_rule(method: Method, temperature: float) -> VerifyRule:
    """Return how such drafts are verified: what is looked up has no distribution of its own."""
    if temperature == 0.0:
        return VerifyRule.GREEDY
    is_lookup = DRAFT_KIND[method] is DraftKind.LOOKUP
    return VerifyRule.ONE_HOT if is_lookup else VerifyRule.RATIO


def _no_prior(words: str, prior: AcceptancePrior) -> MissingDataError:
    methods = sorted({cell.method.value for cell in prior.cells})
    tasks = sorted({cell.task.value for cell in prior.cells if cell.task})
    near = nearest(words, [*methods, *tasks])
    hint = (
        f"Did you mean {near}?"
        if near and words not in {method.value for method in Method}
        else f"Methods with measured chains: {', '.join(methods)}. Tasks: {', '.join(tasks)}."
    )
    return MissingDataError(f"no prior in the catalog matches {words!r}. {hint}")


def _unknown(words: str, known: list[str], what: str) -> MissingDataError:
    near = nearest(words, known)
    hint = f"Did you mean {near}?" if near else f"Known: {', '.join(known)}."
    return MissingDataError(f"no {what} in the catalog matches {words!r}. {hint}")
