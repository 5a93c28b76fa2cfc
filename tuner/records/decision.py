"""The answer: a decision with its reasons, schedule, commands and what it rests on."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from tuner.frozen import dataclass
from tuner.records.config import Prediction, TreeSetting
from tuner.records.interval import Interval
from tuner.records.methods import Engine, Method
from tuner.records.sources import Assumption, Warning_

if TYPE_CHECKING:
    from tuner.records.emit import EmitRequest


class State(StrEnum):
    """The decision."""

    ON = "on"
    OFF = "off"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, and how sure that is."""

    state: State
    reason: str
    #: τ above which the best configuration pays; None when nothing can draft
    break_even_acceptance_length: float | None
    #: belief that the decision's sign is right, 0…1
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Plain decoding on the same setup."""

    #: None = nothing is known about the target's speed (α and c given by hand)
    tpot_s: Interval | None
    output_tok_s: float | None
    batch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One row of the batch schedule, both ends included."""

    start: int
    end: int
    method: Method
    num_speculative_tokens: int
    speedup: float
    tree: TreeSetting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureRow:
    """One row of the temperature switch."""

    start: float
    end_exclusive: float
    method: Method
    num_speculative_tokens: int
    speedup: float
    tree: TreeSetting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Up to where the best configuration beats plain decoding: batches up to, temperatures below.

    None = everywhere up to ``looked_up_to``; 0 = nowhere.
    """

    mean: float | None
    #: by the 10th and the 90th percentile of the belief about the speedup
    p10: float | None
    p90: float | None
    looked_up_to: float
    #: where that end of the belief pays only from a later value on; None = from the first
    p10_from: float | None = None
    p90_from: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Where another configuration is best."""

    by_batch: tuple[BatchRow, ...] = ()
    by_temperature: tuple[TemperatureRow, ...] = ()
    #: None = not looked at, or more than one such place
    pays_to_batch: BreakEven | None = None
    pays_to_temperature: BreakEven | None = None
    #: rows by temperature name methods whose order is within the belief at all of them
    methods_within_belief: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCommand:
    """A launch command of one engine."""

    engine: Engine
    version: str
    argv: tuple[str, ...]
    #: the same, quoted for a POSIX shell
    shell: str
    #: the speculative part as the engine's own mapping
    config: dict[str, object] = field(default_factory=dict)
    #: files that the command needs, name → content
    files: dict[str, str] = field(default_factory=dict)
    #: what whoever pastes it should know about this engine and these settings
    warnings: tuple[Warning_, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyCheck:
    """Largest batch that meets the TPOT limit, plain and with the best configuration."""

    limit_s: float
    plain_batch: int
    best_batch: int
    #: by the belief about the step times: (10th, 90th percentile)
    plain_span: tuple[int, int] | None = None
    best_span: tuple[int, int] | None = None
    #: users with speculation ÷ users without on the same devices; ``p90`` may be infinite
    gain: Interval | None = None
    #: the largest batch looked at; a limit that holds there may hold further
    looked_up_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMeasurement:
    """What to measure next, and why."""

    what: str
    why: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Everything that ``recommend`` says about one profile."""

    profile: str
    title: str
    context_line: str
    decision: Decision
    baseline: Baseline
    #: best first, plain decoding included
    configs: tuple[Prediction, ...]
    schedule: Schedule
    #: what to paste: speculative when on, plain when off
    commands: tuple[EngineCommand, ...]
    warnings: tuple[Warning_, ...]
    assumptions: tuple[Assumption, ...]
    #: the plain server, from which the baseline command and the client follow
    plain_request: EmitRequest | None = None
    next_measurement: NextMeasurement | None = None
    latency_check: LatencyCheck | None = None
    #: sentences about limits on whole requests and first tokens
    targets: tuple[str, ...] = ()
    #: sentence about how flat the optimum is
    flatness: str | None = None
    #: what the profile limits: methods, drafters, draft lengths
    limited: tuple[str, ...] = ()
