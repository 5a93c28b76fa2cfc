"""The screen and the JSON document of ``verify``."""

from __future__ import annotations

import math

from rich.console import RenderableType

from tuner.report.layout import Column, fitted_table, paragraph
from tuner.report.numbers import counted
from tuner.simulate.checks import EXACT_TOLERANCE, DivergenceCheck, FaultCheck
from tuner.simulate.proof import Proof
from tuner.simulate.rules import FAULT_TEXT
from tuner.simulate.statistics import Fit

SCHEMA_VERSION = 1
_OK, _BAD = "ok", "NOT EQUAL"


def verdict(proof: Proof) -> str:
    """Return the result in one sentence."""
    laws = len(proof.enumeration)
    worst = max(check.deviation for check in proof.enumeration)
    if proof.is_exact:
        return (
            f"what comes out has the target's law. {counted(laws, 'enumerated law')} agree to "
            f"{worst:.0e}, {counted(len(proof.samples), 'chi-square test')} and the G-test see no "
            f"deviation{_and_caught(proof)}."
        )
    failed = sum(not check.fits for check in proof.enumeration)
    noticed = sum(not check.fits for check in proof.samples)
    missed = [fault.fault for fault in proof.faults if not fault.caught]
    text = (
        f"{failed} of {counted(laws, 'enumerated law')} differ from the target's (by up to "
        f"{worst:.2g}), {noticed} of {counted(len(proof.samples), 'chi-square test')} notice, and "
        f"the G-test {'does not' if proof.divergence.fits else 'does'}."
    )
    if proof.is_lossy:
        distance = max(check.total_variation for check in proof.enumeration)
        text += f" The rule is lossy by design; total variation up to {distance:.3f} here."
    return text + (f" Not caught: {', '.join(missed)}." if missed else "")


def _and_caught(proof: Proof) -> str:
    if not proof.faults:
        return ""
    return f", and {counted(len(proof.faults), 'planted fault')} were caught"


def render_proof(proof: Proof, *, width: int) -> list[RenderableType]:
    """Return the parts of the screen, the verdict first."""
    tokens = [check.num_speculative_tokens for check in proof.enumeration]
    vocabulary = proof.enumeration[0].vocab_size
    head = "EXACT" if proof.is_exact else "NOT EXACT"
    title = f"rule {proof.rule} · vocabulary {vocabulary} · K 1–{max(tokens)} · seed {proof.seed}"
    parts: list[RenderableType] = ["", paragraph(title, style="bold"), ""]
    parts.append(paragraph(f"{head}   {verdict(proof)}", style="bold"))
    if proof.fault:
        parts.append(paragraph(f"planted: {FAULT_TEXT[proof.fault]} (--break {proof.fault})"))
    parts += [
        "",
        paragraph(
            "by enumeration: largest difference between the joint law of the first K + 1 emitted "
            f"tokens and the target's; at most {EXACT_TOLERANCE:.0e} is equal"
        ),
        _enumeration_table(proof, width),
        "",
        paragraph(
            f"by chi-square: the first {max(tokens) + 1} tokens of "
            f"{proof.samples[0].restarts:,} independent restarts from fixed contexts"
        ),
        _sample_table(proof, width),
        "",
        paragraph(_divergence_text(proof.divergence)),
    ]
    if proof.faults:
        parts += ["", *_fault_parts(proof.faults, width)]
    note = f"Each statistical check calls a false alarm with chance {proof.level:g}."
    return [*parts, "", paragraph(note, style="dim")]


def proof_document(proof: Proof) -> dict[str, object]:
    """Return the JSON document of ``verify``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exact": proof.is_exact,
        "seed": proof.seed,
        "level": proof.level,
        "rule": proof.rule,
        "lossy": proof.is_lossy,
        "fault": proof.fault,
        "enumeration": [
            {
                "case": check.case,
                "vocab_size": check.vocab_size,
                "num_speculative_tokens": check.num_speculative_tokens,
                "outcomes": check.outcomes,
                "max_deviation": check.deviation,
                "total_variation": check.total_variation,
                "ok": check.fits,
            }
            for check in proof.enumeration
        ],
        "chi_square": [
            {
                "case": check.case,
                "num_speculative_tokens": check.num_speculative_tokens,
                "restarts": check.restarts,
                "steps": check.steps,
                **_fit_fields(check.fit),
            }
            for check in proof.samples
        ],
        "g_test": {
            "vocab_size": proof.divergence.vocab_size,
            "num_speculative_tokens": proof.divergence.num_speculative_tokens,
            "acceptance_rate": proof.divergence.acceptance_rate,
            "kl": _finite(proof.divergence.kl),
            "expected_kl": proof.divergence.expected_kl,
            **_fit_fields(proof.divergence.fit),
        },
        "planted_faults": [
            {
                "fault": fault.fault,
                "what": FAULT_TEXT[fault.fault],
                "total_variation": fault.total_variation,
                "power": fault.power,
                "caught": fault.caught,
                **_fit_fields(fault.fit),
            }
            for fault in proof.faults
        ],
    }


def _fit_fields(fit: Fit) -> dict[str, object]:
    """Return the fields of one test; an outcome that the law excludes has no finite statistic."""
    return {
        "samples": fit.samples,
        "statistic": _finite(fit.statistic),
        "degrees_of_freedom": fit.degrees_of_freedom,
        "critical": fit.critical if fit.degrees_of_freedom else None,
        "p_value": fit.p_value,
        "ok": fit.fits,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _enumeration_table(proof: Proof, width: int) -> RenderableType:
    cases = list(dict.fromkeys(check.case for check in proof.enumeration))
    counts = sorted({check.num_speculative_tokens for check in proof.enumeration})
    found = {(check.case, check.num_speculative_tokens): check for check in proof.enumeration}
    columns = [Column(title="model", cells=tuple(cases), align="left", shortest=16)]
    for n in counts:
        cells = tuple(_small(found[case, n].deviation) for case in cases)
        columns.append(Column(title=f"K {n}", cells=cells))
    marks = tuple(_OK if all(found[case, n].fits for n in counts) else _BAD for case in cases)
    columns.append(Column(title="", cells=marks, align="left"))
    return fitted_table(columns, width=width, indent=4)


def _sample_table(proof: Proof, width: int) -> RenderableType:
    checks = proof.samples
    columns = [
        Column(title="model", cells=tuple(c.case for c in checks), align="left", shortest=16),
        Column(title="steps", cells=tuple(f"{c.steps:,}" for c in checks), drop_order=2),
        *_fit_columns([check.fit for check in checks]),
        Column(title="", cells=tuple(_OK if c.fits else _BAD for c in checks), align="left"),
    ]
    return fitted_table(columns, width=width, indent=4)


def _fit_columns(fits: list[Fit]) -> list[Column]:
    return [
        Column(title="χ²", cells=tuple(_statistic(fit.statistic) for fit in fits)),
        Column(title="degrees", cells=tuple(str(fit.degrees_of_freedom) for fit in fits)),
        Column(
            title="critical",
            cells=tuple(f"{fit.critical:.1f}" if fit.degrees_of_freedom else "–" for fit in fits),
        ),
        Column(title="p-value", cells=tuple(_p_value(fit.p_value) for fit in fits)),
    ]


def _divergence_text(check: DivergenceCheck) -> str:
    fit = check.fit
    mark = _OK if check.fits else _BAD
    return (
        f"by KL: {fit.samples:,} tokens over a vocabulary of {check.vocab_size}, K "
        f"{check.num_speculative_tokens}, α {check.acceptance_rate:.2f}: KL from the target "
        f"{check.kl:.6f} nats, where exact samples give (V − 1)/2n = {check.expected_kl:.6f} on "
        f"average. G {_statistic(fit.statistic)}, {fit.degrees_of_freedom} degrees, critical "
        f"{fit.critical:.1f}, p {_p_value(fit.p_value)}: {mark}"
    )


def _fault_parts(faults: tuple[FaultCheck, ...], width: int) -> list[RenderableType]:
    table = fitted_table(
        [
            Column(title="broken part", cells=tuple(f.fault for f in faults), align="left"),
            Column(title="distance", cells=tuple(f"{f.total_variation:.3f}" for f in faults)),
            Column(title="power", cells=tuple(_power(f.power) for f in faults)),
            Column(title="χ²", cells=tuple(_statistic(f.fit.statistic) for f in faults)),
            Column(
                title="critical",
                cells=tuple(f"{f.fit.critical:.1f}" for f in faults),
                drop_order=1,
            ),
            Column(
                title="",
                cells=tuple("caught" if f.caught else "NOT CAUGHT" for f in faults),
                align="left",
            ),
        ],
        width=width,
        indent=4,
    )
    lead = (
        "could these checks fail? One part of the sampler broken on purpose; distance is the "
        "total variation from the target's law, power the chance that chi-square notices"
    )
    return [paragraph(lead), table]


def _small(value: float) -> str:
    if value == 0.0:
        return "0"
    return f"{value:.0e}" if value < 1e-3 else f"{value:.3f}"


def _statistic(value: float) -> str:
    if not math.isfinite(value):
        return "∞"
    return f"{value:,.1f}" if value < 1e6 else f"{value:.1e}"


def _p_value(value: float) -> str:
    if value >= 1e-3:
        return f"{value:.3f}"
    return f"{value:.0e}" if value > 0.0 else "0"


def _power(value: float) -> str:
    return "> 0.9999" if value > 0.9999 else f"{value:.4f}"
