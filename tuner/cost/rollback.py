"""llama.cpp's rollback of rejected drafts on recurrent targets: checkpoints and repeated passes.

The state of linear layers cannot be cut back to an earlier token. For learned heads (MTP, EAGLE-3,
DFlash, DSpark) llama.cpp keeps a state for each draft token (``need_n_rs_seq`` in
``common/common.h``); for draft models and lookups it keeps none. There ``server-context.cpp`` saves
the states to host memory before each verification, and after a partial acceptance loads them and
verifies the accepted part once more (``COMMON_CONTEXT_SEQ_RM_TYPE_FULL``; pull request 19493).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.terms import PassSetup
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.hardware import DeviceKind
from tuner.records.methods import DraftKind, Engine, Method

FloatArray = NDArray[np.float64]

#: chance that a draft token is accepted, for the chance 1 − a^K that not all K are. thc1006's draft
#: model runs on RTX 3090 give .72, .76 and .81 at K = 2, 4 and 8 (accepted tokens by draft and by
#: verification: τ − 1 against α·K)
ALL_ACCEPTED_RATE = 0.75
#: part of a draft that the repeated pass verifies: mean accepted tokens of a partly accepted draft
#: over K, .21 to .29 for K = 2 … 8 at that rate
ACCEPTED_PART = 0.25
#: copies between a card and pageable host memory over PCIe 4.0 ×16 (assumed: half of the link)
HOST_COPY_BYTES_PER_S = 12e9
#: recurrent states are kept in 32 bits
STATE_BYTES = 4.0
#: devices whose memory is the host's: a copy reads and writes it
_SHARED_MEMORY = frozenset({DeviceKind.APPLE, DeviceKind.INTEGRATED, DeviceKind.CPU})


class Rollback(NamedTuple):
    """What undoing drafts adds to a step, arrays of shape (n,)."""

    #: expected passes of the target over the accepted part of a draft
    passes: FloatArray
    #: time to save and load recurrent states
    copies_s: FloatArray


def rolls_back_by_checkpoint(setup: CostSetup, plan: DraftPlan) -> bool:
    """Whether rejected drafts are undone by checkpoints and a second pass."""
    is_kept = plan.method is not Method.DRAFT_MODEL and plan.kind is not DraftKind.LOOKUP
    return setup.engine is Engine.LLAMACPP and setup.target.is_hybrid and not is_kept


def rollback(
    setup: CostSetup,
    passes: tuple[PassSetup, ...],
    batch: FloatArray,
    draft_steps: FloatArray,
    tokens: FloatArray,
) -> Rollback:
    """Return what undoing drafts of ``draft_steps`` tokens takes.

    Parameters
    ----------
    setup
        Who runs on what.
    passes
        Target, and drafter where it is a model: whose states are saved.
    batch
        Sequences, each with a state of its own.
    draft_steps
        Draft tokens, 0 for plain decoding.
    tokens
        Verified tokens of a sequence in the mean over steps: fewer than K + 1 where only a share
        of the steps has a draft.
    """
    length = np.maximum(draft_steps, 1.0)
    drafted = np.clip((tokens - 1.0) / length, 0.0, 1.0)
    partly = drafted * (1.0 - ALL_ACCEPTED_RATE**length)
    state_bytes = STATE_BYTES * sum(
        one.parts.state_values_per_layer * one.parts.n_linear_layers for one in passes
    )
    accelerator = setup.hardware.accelerator
    rate = HOST_COPY_BYTES_PER_S
    if accelerator.kind in _SHARED_MEMORY:
        rate = accelerator.bandwidth_bytes_per_s / 2.0
    return Rollback(partly, batch * (drafted + partly) * state_bytes / rate)
