"""``specdec-tune skill``: what an agent needs to use this tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.options import Force
from tuner.cli.output import current_output


def skill(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="eagle3-tuner or speculative-decoding.")
    ] = "eagle3-tuner",
    install: Annotated[
        str | None,
        typer.Option("--install", metavar="DIR", help="Write all skills below this directory."),
    ] = None,
    force: Force = False,
) -> None:
    """Print what an agent needs to use this tool."""
    from tuner.errors import InputError
    from tuner.nearest import nearest
    from tuner.report.skills import SKILLS, skill_text

    output = current_output()
    if name not in SKILLS:
        near = nearest(name, SKILLS)
        hint = f"did you mean {near}?" if near else f"known are {', '.join(SKILLS)}."
        raise InputError(f"there is no skill {name!r}: {hint}")
    if install is None:
        if output.json:
            output.emit_json({"schema_version": 1, "name": name, "text": skill_text(name)})
        else:
            output.text(skill_text(name))
        return
    written = _install(Path(install), {each: skill_text(each) for each in SKILLS}, force=force)
    if output.json:
        output.emit_json({"schema_version": 1, "written": written})
    else:
        output.text("\n".join(f"wrote {path}" for path in written))


def _install(directory: Path, texts: dict[str, str], *, force: bool) -> list[str]:
    """Write ``NAME/SKILL.md`` for each skill, or nothing at all."""
    from tuner.cli.files import write_file
    from tuner.errors import InputError

    paths = {directory / name / "SKILL.md": text for name, text in texts.items()}
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        raise InputError(f"{existing[0]} exists: give --force to overwrite it.")
    for path, text in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path.parent} cannot be made: {error.strerror}.") from None
        write_file("--install", path, [text.encode()])
    return [str(path) for path in paths]
