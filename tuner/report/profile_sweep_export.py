"""A profile swept over batch or temperature as JSON or CSV."""

from __future__ import annotations

import csv
import io

from tuner.records.sweep import ProfileSweep, SweepPoint
from tuner.report.export import Json, document, interval_dict, milliseconds_dict, prediction_dict
from tuner.report.names import drafter_text
from tuner.report.profile_sweep import runs
from tuner.units import milliseconds

_CSV_COLUMNS = (
    "state",
    "method",
    "drafter",
    "num_speculative_tokens",
    "tree",
    "acceptance_length",
    "plain_tpot_ms",
    "tpot_ms",
    "speedup",
    "speedup_p10",
    "speedup_p90",
)


def profile_sweep_document(sweep: ProfileSweep) -> Json:
    """Return the document of ``sweep PROFILE --over … --json``."""
    changes = [
        {
            "from": first.value,
            "to": last.value,
            "state": first.state.value,
            "method": first.best.config.method.value,
            "num_speculative_tokens": first.best.config.num_speculative_tokens,
        }
        for first, last in runs(sweep.points)
    ]
    points = [_point_dict(point) for point in sweep.points]
    return document(
        [
            {
                "profile": sweep.profile,
                "over": sweep.axis.value,
                "points": points,
                "changes": changes,
            }
        ]
    )


def profile_sweep_csv(sweep: ProfileSweep) -> str:
    """Return one line a value; unknown cells are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow((sweep.axis.value, *_CSV_COLUMNS))
    for point in sweep.points:
        config, best = point.best.config, point.best
        writer.writerow(
            (
                point.value,
                point.state.value,
                config.method.value,
                drafter_text(config),
                config.num_speculative_tokens,
                config.tree or "",
                best.acceptance_length.mean,
                "" if point.plain_tpot_s is None else milliseconds(point.plain_tpot_s.mean),
                "" if best.tpot_s is None else milliseconds(best.tpot_s.mean),
                best.speedup.mean,
                best.speedup.p10,
                best.speedup.p90,
            )
        )
    return stream.getvalue()


def _point_dict(point: SweepPoint) -> Json:
    plain = point.plain_tpot_s
    return {
        "value": point.value,
        "state": point.state.value,
        "speedup": interval_dict(point.speedup),
        "plain_tpot_ms": None if plain is None else milliseconds_dict(plain),
        "best": prediction_dict(point.best),
    }
