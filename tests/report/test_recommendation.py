"""The recommend screen: decision first, no wrapped row, a command that pastes back."""

from __future__ import annotations

import io
import math
import re
import shlex
import subprocess
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from tuner.records.config import Prediction, TreeSetting
from tuner.records.decision import (
    BreakEven,
    EngineCommand,
    LatencyCheck,
    Recommendation,
    State,
)
from tuner.records.interval import Interval
from tuner.records.methods import Engine
from tuner.report.recommendation import render_recommendations

ARGUMENT_PRINTER = "import json, sys; print(json.dumps(sys.argv[1:]))"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def lines_of(items: list[Recommendation], width: int, **options: int) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    for part in render_recommendations(items, width=width, **options):
        console.print(part, markup=False, crop=False)
    return stream.getvalue().splitlines()


def command_lines(lines: list[str]) -> list[str]:
    """Return the launch command: from its first word to the line that does not go on."""
    start = next(place for place, line in enumerate(lines) if line.startswith("vllm serve"))
    end = start
    while lines[end].endswith("\\"):
        end += 1
    return lines[start : end + 1]


def table_of(lines: list[str]) -> list[str]:
    start = next(place for place, line in enumerate(lines) if line.strip().startswith("method"))
    end = next(place for place in range(start, len(lines)) if "plain" in lines[place].split()[:2])
    return lines[start : end + 1]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_decision_comes_before_everything(switched_on: Recommendation, width: int) -> None:
    lines = lines_of([switched_on], width)
    text = "\n".join(lines)
    order = ["ON  ", "Pays while τ stays above", "▸", "by load", "vllm serve", "  !  ", "rests on"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160])
@pytest.mark.parametrize(
    "name", ["switched_on", "switched_off", "undecided", "by_formula", "too_large"]
)
def test_only_the_command_may_be_wider_than_the_screen(
    name: str, width: int, request: pytest.FixtureRequest
) -> None:
    lines = lines_of([request.getfixturevalue(name)], width)
    command = set(command_lines(lines))
    rest = [line for line in lines if line not in command and "--bench-command" not in line]
    assert max(map(cell_len, rest)) <= width
    assert not any(line.endswith(" ") for line in rest)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_each_configuration_is_one_line(switched_on: Recommendation, width: int) -> None:
    table = table_of(lines_of([switched_on], width))
    assert len(table) == 1 + len(switched_on.configs)


def test_columns_by_width(switched_on: Recommendation) -> None:
    def titles(width: int) -> str:
        return " ".join(table_of(lines_of([switched_on], width))[0].split())

    assert titles(130) == "method drafter K, tree α τ c verify step TPOT speedup 80 % fits"
    assert titles(100) == "method drafter K, tree α τ c step TPOT speedup 80 %"
    assert titles(80) == "method drafter K, tree τ TPOT speedup 80 %"
    assert titles(60) == "method K, tree τ step TPOT speedup"
    assert titles(40) == "method K, tree TPOT speedup"


def test_the_table_line_for_line(switched_on: Recommendation) -> None:
    # By hand: τ = 1 + Σ .75^i = 3.288, step .2 + 1.08 + .04 = 1.32, speedup 3.288 ÷ 1.32 = 2.49,
    # TPOT 25.1 ÷ 2.49 = 10.1 ms; belief exp(± 1.28 × .104) around 2.49.
    assert table_of(lines_of([switched_on], 80)) == [
        "     method  drafter            K, tree  τ              TPOT  speedup  80 %",
        "  ▸  eagle3  EAGLE3…struct-70B        5  3.29 ± .34  10.1 ms    2.49×  2.2–2.8",
        "     eagle3  EAGLE3…struct-70B        4  3.05 ± .31  10.4 ms    2.42×  2.1–2.8",
        "     eagle3  EAGLE3…struct-70B   5/4/16  3.66 ± .38  11.1 ms    2.26×  2.0–2.6",
        "     draft   Llama-…B-Instruct        4  2.88 ± .30  14.0 ms    1.79×  1.57–2.04",
        "     ngram                            3  1.36 ± .35  19.9 ms    1.26×  0.90–1.76",
        "     plain                            –  1.00        25.1 ms    1.00×",
    ]


def test_on_in_words(switched_on: Recommendation) -> None:
    text = "\n".join(lines_of([switched_on], 120))
    assert "EAGLE-3, 5 draft tokens: 2.49× as fast (80 % belief 2.2–2.8)." in text
    # ± 1.2816 × .15 on a logarithmic scale: 25.1 ÷ 1.212 = 20.7 and 25.1 × 1.212 = 30.4
    assert "TPOT 25.1 ms (20.7–30.4) → 10.1 ms (8.3–12.2)." in text
    assert (
        "The 20 ms target holds up to 96 (61–160) sequences; plain decoding up to 22 (14–40): "
        "4.36× (3.1–5.9) the users on the same devices, or as many on 77 % (68–83) fewer."
    ) in " ".join(text.split())
    assert "above 1.32 (1.22–1.43); expected τ 3.29 (2.97–3.64); 97 % sure that it pays." in text
    told = " ".join(text.split())
    assert (
        "by load batch 1–16 K 5 · 17–64 K 3 · 65–128 K 1 · 129–512 off; pays up to batch 128 "
        "(80 % belief: 63 to beyond 512)"
    ) in told
    assert (
        "by temperature T below 0.9 K 5 · 0.9 to 2 K 3; pays at every T looked at, up to 1.2 "
        "(low end of the belief: below T 0.6)"
    ) in told
    assert "Next, by central values: EAGLE-3 at K 4, 2.9 % slower a token; the next method" in text


def test_what_clients_see_stands_beside_plain_decoding(switched_on: Recommendation) -> None:
    # By hand: 200 ms of prefill + 399 tokens; a step of 1.32 plain ones; K 5 and the bonus.
    lines = lines_of([switched_on], 80)
    start = next(place for place, line in enumerate(lines) if "what clients see" in line)
    assert [line.rstrip() for line in lines[start : start + 5]] == [
        "  what clients see   plain                eagle3 K 5",
        "  whole request      10.2 s (8.55–12.2)   4.22 s (3.55–5.02)",
        "  between chunks     25.1 ms (22.1–28.5)  33.1 ms (29.1–37.7)",
        "  TPOT, slowest 1 %  25.1 ms (20.7–30.4)  12.0 ms (9.9–14.5)",
        "  tokens a second    637 (526–773)        1,588 (1,310–1,924)",
    ]
    legend = " ".join(" ".join(lines[start + 5 : start + 8]).split())
    assert legend.startswith("chunks: up to 6 tokens at once in 99 of 100; 80 % belief in brackets")
    assert "prefill as computed" in legend
    assert "first token: 2.0 ms later" in " ".join(" ".join(lines[start + 5 : start + 10]).split())


def test_cost_is_shown_where_a_price_is_known(switched_on: Recommendation) -> None:
    best, *others, plain = switched_on.configs

    def priced(item: Prediction, usd: float) -> Prediction:
        assert item.beliefs is not None
        interval = Interval(mean=usd, p10=usd / 1.2, p90=usd * 1.2)
        return replace(item, beliefs=replace(item.beliefs, usd_per_million_tokens=interval))

    configs = (priced(best, 1.2), *others, priced(plain, 3.0))
    text = "\n".join(lines_of([replace(switched_on, configs=configs)], 80))
    assert "  million tokens     $3.00 (2.50–3.60)    $1.20 (1.00–1.44)" in text


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            LatencyCheck(
                limit_s=0.02, plain_batch=0, best_batch=4, plain_span=(0, 3), best_span=(0, 21),
                looked_up_to=512,
            ),
            "The 20 ms target holds up to 4 (0–21) sequences; plain decoding misses it even alone "
            "(by the high end of the belief it holds up to 3).",
        ),
        (
            LatencyCheck(
                limit_s=0.02, plain_batch=40, best_batch=512, plain_span=(4, 99),
                best_span=(60, 512), gain=Interval(mean=12.8, p10=1.5, p90=math.inf),
                looked_up_to=512,
            ),
            "holds up to 512 or more (60–512) sequences; plain decoding up to 40 (4–99): 12.8× "
            "(1.50 or more) the users on the same devices, or as many on 92 % (33 or more) fewer.",
        ),
        (
            LatencyCheck(
                limit_s=0.02, plain_batch=0, best_batch=0, plain_span=(0, 0), best_span=(0, 5),
                looked_up_to=512,
            ),
            "out of reach at every batch (by the high end of the belief it holds up to 5); plain "
            "decoding misses it even alone.",
        ),
    ],
)  # fmt: skip
def test_targets_in_words(switched_on: Recommendation, check: LatencyCheck, words: str) -> None:
    text = " ".join(" ".join(lines_of([replace(switched_on, latency_check=check)], 100)).split())
    assert words in text


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (BreakEven(mean=0.9, p10=0.3, p90=None, looked_up_to=1.2),
         "; pays below T 0.9 (80 % belief: 0.3 to beyond 1.2)"),
        (BreakEven(mean=0.9, p10=0.0, p90=1.2, looked_up_to=1.2),
         "; pays below T 0.9 (80 % belief: nowhere to 1.2)"),
        (BreakEven(mean=None, p10=None, p90=None, looked_up_to=1.2),
         "; pays at every T looked at, up to 1.2\n"),
        (BreakEven(mean=0.0, p10=0.0, p90=None, looked_up_to=1.2),
         "; pays nowhere (high end of the belief: at every T looked at)"),
        (None, "K 3\n"),
    ],
)  # fmt: skip
def test_where_heat_ends_it(
    switched_on: Recommendation, limit: BreakEven | None, words: str
) -> None:
    schedule = replace(switched_on.schedule, pays_to_temperature=limit)
    text = "\n".join(lines_of([replace(switched_on, schedule=schedule)], 160))
    assert words in text


def test_a_tree_in_the_schedule_is_named_as_a_tree(switched_on: Recommendation) -> None:
    rows = switched_on.schedule.by_batch
    tree = replace(rows[0], tree=TreeSetting(num_steps=5, topk=4, draft_tokens=16))
    schedule = replace(switched_on.schedule, by_batch=(tree, *rows[1:]))
    text = "\n".join(lines_of([replace(switched_on, schedule=schedule)], 120))
    assert "batch 1–16 tree 5/4/16 · 17–64 K 3" in text


def test_off_in_words(switched_off: Recommendation) -> None:
    text = "\n".join(lines_of([switched_off], 120))
    assert "OFF      No method pays at batch 256: the best, EAGLE-3 at K 1, would run at" in text
    assert "0.93× (80 % belief 0.81–1.06)." in text
    assert "Break-even τ is 1.71 (1.58–1.85), expected τ 1.59 (1.44–1.76)" in text
    assert "verifying 2 tokens a sequence costs 1.62 plain steps here" in " ".join(text.split())
    assert "It would pay at batch 1–40 (K 2): 1.70× with EAGLE-3 at batch 1." in text
    assert "without speculation:" in text
    assert next(line for line in text.splitlines() if "▸" in line).split()[1] == "plain"


def test_measure_in_words(undecided: Recommendation) -> None:
    text = "\n".join(lines_of([undecided], 120))
    assert "MEASURE  The evidence does not decide: a draft model at K 2 would run at 1.09×" in text
    assert "TPOT would go 25.1 ms (20.7–30.4) → 23.1 ms (19.0–27.9)" in text
    assert "What would decide: acceptance of this drafter on your prompts" in text
    assert text.rstrip().endswith("specdec-tune recommend --bench-command chat-llama-3.3-70b")


def test_ratios_alone_show_no_times(by_formula: Recommendation) -> None:
    text = "\n".join(lines_of([by_formula], 100))
    assert "draft model, 8 draft tokens: 3.09× as fast.\n" in text
    assert " ms" not in text
    assert "None" not in text
    assert "belief" not in text


def test_what_does_not_fit_is_said_at_every_width(too_large: Recommendation) -> None:
    for width in (80, 100, 120):
        lines = lines_of([too_large], width)
        row = next(line for line in lines if line.split()[:2] in (["▸", "draft"], ["draft", "big"]))
        assert row.endswith("NO, 3")
        assert "Does not fit in memory at batch 16." in "\n".join(lines)


@pytest.mark.parametrize("width", [40, 80, 100])
@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_the_command_pastes_back(switched_on: Recommendation, width: int, shell: str) -> None:
    import json
    import shutil
    import sys

    if shutil.which(shell) is None:
        shell = "sh"
    argv = ("vllm", "serve", "a b/it's $(x)", "--name", "größe", *switched_on.commands[0].argv[5:])
    command = EngineCommand(engine=Engine.VLLM, version="0.33.0", argv=argv, shell=shlex.join(argv))
    lines = lines_of([replace(switched_on, commands=(command,))], width)
    pasted = "\n".join(command_lines(lines))
    script = pasted.replace("vllm ", f"{sys.executable} -c {shlex.quote(ARGUMENT_PRINTER)} ", 1)
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(argv[1:])


def test_several_profiles_start_with_a_summary(
    switched_on: Recommendation, switched_off: Recommendation, undecided: Recommendation
) -> None:
    lines = lines_of([switched_on, switched_off, undecided], 100)
    assert lines[1].split() == [
        "profile",
        "advice",
        "best",
        "draft",
        "batch",
        "speedup",
        "80",
        "%",
        "TPOT",
    ]
    assert lines[2].split()[:4] == ["chat-llama-3.3-70b", "ON", "eagle3", "K"]
    assert lines[3].split()[:2] == ["offline-batch-256", "OFF"]
    assert lines[4].split()[1] == "MEASURE"
    assert sum(line.startswith("offline-batch-256") for line in lines) == 1


def test_top_keeps_plain_decoding(switched_on: Recommendation) -> None:
    table = table_of(lines_of([switched_on], 100, top=2))
    assert [row.replace("▸", "").split()[0] for row in table] == [
        "method", "eagle3", "eagle3", "plain",
    ]  # fmt: skip


def test_a_warning_is_shown_once(switched_on: Recommendation) -> None:
    command = replace(switched_on.commands[0], warnings=switched_on.warnings)
    text = "\n".join(lines_of([replace(switched_on, commands=(command,))], 120))
    assert text.count("The drafter was trained on contexts") == 1


def test_square_brackets_are_not_markup(switched_on: Recommendation) -> None:
    odd = replace(switched_on, profile="a[bold]b", title="[red]x[/red]")
    assert "a[bold]b   [red]x[/red]" in "\n".join(lines_of([odd], 100))


def test_numbers_of_the_decision_are_those_of_the_record(switched_on: Recommendation) -> None:
    best = switched_on.configs[0]
    lines = lines_of([switched_on], 120)
    start = next(place for place, line in enumerate(lines) if line.startswith("  ON"))
    told = {
        float(number.replace(",", ""))
        for line in lines[start : lines.index("", start)]
        for number in NUMBER.findall(line.replace("EAGLE-3", ""))
    }
    plain = switched_on.configs[-1]
    known = [
        best.config.num_speculative_tokens, 80, 97,
        20, 96, 22, 14, 40, 61, 160, 96 / 22, 3.1, 5.9, 77, 68, 83,
        *(1e3 * end for item in (best, plain) for end in (item.tpot_s.p10, item.tpot_s.p90)),
        best.speedup.mean, best.speedup.p10, best.speedup.p90,
        best.tpot_s.mean * 1e3, plain.tpot_s.mean * 1e3, best.e2e_s, plain.e2e_s,
        best.step_cost_ratio, 1.22, 1.43, best.acceptance_length.mean, best.acceptance_length.p10,
        best.acceptance_length.p90,
    ]  # fmt: skip
    for number in told:
        assert any(number == pytest.approx(value, rel=0.02) for value in known), number


def test_colour_is_never_the_only_sign(switched_on: Recommendation) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=100, force_terminal=True, color_system="standard")
    for part in render_recommendations([switched_on], width=100):
        console.print(part, markup=False, crop=False, highlight=False)
    coloured = stream.getvalue()
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert plain.splitlines() == lines_of([switched_on], 100)


def test_states_are_words() -> None:
    from tuner.report.decision import STATE_WORDS

    assert set(STATE_WORDS) == set(State)


def test_quiet_leaves_the_warnings_out(switched_on: Recommendation) -> None:
    loud, quiet = (lines_of([switched_on], 100, quiet=flag) for flag in (False, True))
    assert any(line.startswith("  !  ") for line in loud)
    assert not any(line.startswith("  !  ") for line in quiet)
    assert set(quiet) <= set(loud)


def test_the_symbols_of_the_table_are_explained(switched_on: Recommendation) -> None:
    lines = lines_of([switched_on], 100)
    start = next(place for place, line in enumerate(lines) if line.startswith("  K drafts a step"))
    assert max(len(line) for line in lines[start : start + 2]) <= 100
    legend = " ".join(lines[start : start + 2])
    for symbol in ("α ", "τ ", "c ", "step: ", "80 %: belief about the speedup", "TPOT: "):
        assert symbol in legend


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 160])
def test_the_legend_explains_the_columns_that_are_shown(
    switched_on: Recommendation, width: int
) -> None:
    lines = lines_of([switched_on], width)
    header = next(line for line in lines if "method" in line and "speedup" in line).split()
    start = next(place for place, line in enumerate(lines) if line.startswith("  K drafts a step"))
    legend = " ".join(" ".join(lines[start : start + 3]).split())
    for title, words in {
        "α": "α chance",
        "τ": "τ tokens a step",
        "c": "c draft pass",
        "verify": "verify",
        "step": "in plain steps",
    }.items():
        assert (title in header) == (words in legend)


def test_long_times_are_in_seconds(switched_on: Recommendation) -> None:
    slow = Interval(mean=1.696, p10=1.5, p90=1.9)
    item = replace(switched_on, baseline=replace(switched_on.baseline, tpot_s=slow))
    assert "TPOT 1.70 s (1.50–1.90) → 10.1 ms (8.3–12.2)" in "\n".join(lines_of([item], 120))
