"""``specdec-tune why``: what single change flips the advice."""

from __future__ import annotations

from tuner.cli.options import EngineName, EngineVersion, ProfilePath, SetValues
from tuner.cli.output import current_output, screen_width


def why(
    profile: ProfilePath,
    engine: EngineName = None,
    engine_version: EngineVersion = None,
    set_: SetValues = None,
) -> None:
    """What single change flips the advice; what to measure next."""
    from tuner.advise.why import why as explain
    from tuner.cli.reading import read

    output = current_output()
    found = explain(read(profile, set_, engine, engine_version))
    if output.json:
        from tuner.report.export import why_document

        output.emit_json(why_document(found))
    else:
        from tuner.report.why import render_why

        output.show(*render_why(found, width=screen_width()))
