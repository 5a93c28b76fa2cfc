"""What ``--allow-lossy`` may answer: nothing that was never measured."""

from __future__ import annotations

from tuner.engines import TITLES
from tuner.engines.lossy import LOSSY_RULES
from tuner.errors import MissingDataError, Where
from tuner.records.sources import Warning_
from tuner.records.workload import Profile


def require_lossy_evidence(profile: Profile) -> Warning_:
    """Return what to say where the engine has no lossy rule.

    Raises
    ------
    MissingDataError
        The engine has one. What the data hold of lossy rules is of Medusa's own runs, of
        TensorRT-LLM's relaxed MTP and of T5 with lenience: none of these rules is served here, and
        how often the served ones keep a draft depends on the target's entropies, which no source
        gives by task and drafter.
    """
    engine = profile.engine.name
    rule = LOSSY_RULES.get(engine)
    if rule is None:
        return Warning_(
            code="no-lossy-rule",
            message=(
                f"{TITLES[engine]} has no acceptance rule that changes the output: --allow-lossy "
                "changes nothing."
            ),
        )
    raise MissingDataError(
        f"--allow-lossy: {TITLES[engine]} has one rule that changes the output distribution, "
        f"{rule.setting}: it keeps {rule.keeps} ({rule.source}). The data hold no acceptance "
        "measured under it, so no speedup can be stated. Leave the option out for advice that "
        "keeps the output; to try the rule, measure a server with it against one without.",
        where=Where(file=profile.path, key="engine"),
    )
