"""What an agent needs to use this tool, generated so that it cannot disagree with the program."""

from __future__ import annotations

from tuner.engines import NEWEST_KNOWN, TITLES
from tuner.engines.commands import ADAPTERS
from tuner.optimize.choice import OFF_CONFIDENCE, ON_CONFIDENCE
from tuner.records.methods import Method, VerifyRule
from tuner.report.numbers import percent

_ENGINES = ", ".join(f"{TITLES[engine]} {version}" for engine, version in NEWEST_KNOWN.items())
_TELEMETRY = "\n".join(
    f"   - {TITLES[engine]}: {ADAPTERS[engine].ACCEPTANCE_APPEARS}" for engine in NEWEST_KNOWN
)
_METHODS = ", ".join(method for method in Method if method is not Method.NONE)
_LOSSY = ", ".join(rule.value for rule in VerifyRule if rule.is_lossy)


_EAGLE3_TUNER = f"""---
name: eagle3-tuner
description: Choose draft family, draft length, tree depth and temperature gating for speculative decoding of one workload (sampling, batch, latency target, task, target model, accelerator) with specdec-tune, and hand over the launch command.
---

# Tune speculative decoding for one workload

Use the `specdec-tune` command; do not estimate by hand. It knows {_METHODS}, and writes commands for {_ENGINES}.

## What to ask the user for

Target model (id, `config.json` or GGUF file), accelerator and count, engine and version, task, temperature and other
sampling settings, batch (or concurrency, or requests a second), prompt and output tokens, latency target. Missing ones
become defaults that the output names; say which.

## Steps

1. Write a profile, or start from a shipped one:

   ```bash
   specdec-tune init --target meta-llama/Llama-3.3-70B-Instruct --gpu H100-SXM --count 4 --task chat --temperature 0.7 --batch 16 --output profile.yaml
   ```

2. Get the recommendation as one JSON document:

   ```bash
   specdec-tune recommend profile.yaml --json
   ```

3. Look at what would change it, and at named alternatives:

   ```bash
   specdec-tune why profile.yaml --json
   specdec-tune predict profile.yaml --method eagle3 --k 1:8 --json
   ```

4. Over load and temperature, where the workload varies:

   ```bash
   specdec-tune sweep profile.yaml --over batch=1:64 --json
   specdec-tune sweep profile.yaml --over temperature=0:1.2:0.2 --json
   ```

5. Print the command to paste, and the plain one to compare with:

   ```bash
   specdec-tune recommend profile.yaml --emit shell
   specdec-tune recommend profile.yaml --baseline-command
   ```

## How to read the JSON

- `profiles[0].decision.state`: `on`, `off` or `measure`. `on` means that the belief that it pays is at least
  {percent(ON_CONFIDENCE)}, `off` that it is below {percent(OFF_CONFIDENCE)}, that a whole request would end later, or that it does not fit;
  between them the evidence does not decide.
- `configs` is best first and contains plain decoding (`"method": "none"`). Draft family: `method` and `drafter`. Draft length N:
  `num_speculative_tokens`. Tree: `tree` (steps/topk/draft tokens) or `null` for a chain.
- `speedup.p10` to `speedup.p90` is the 80 % belief about the mean; give it with the number, never the mean alone.
- `decision.break_even_acceptance_length` against `acceptance_length.mean`: the margin.
- `schedule.by_batch`: draft length by load, 0 = plain. `schedule.by_temperature`: the temperature switch; above its last
  speculative row, turn speculation off or send those requests elsewhere.
- `warnings` and `assumptions`: pass on every warning, and every assumption of kind `default` or `prior`.
- An error is `{{"error": {{"code", "message", "where"}}}}` with the same exit code as the process.

## KV cache and rollback

A rejected draft leaves KV entries beyond the last accepted token; each engine rolls them back itself, nothing is to be set. What to know:

- The drafter's weights, its own KV cache and the logits of the verified tokens lower `max_batch`; compare it with that of plain decoding.
- vLLM: some versions lose prefix-cache hits with a drafter (vllm-project/vllm#38182, #51250); compare the hit rate before and after.
- SGLang: a tree (topk > 1) needs page size 1, or attention backend flashinfer, fa3 or triton; running requests are capped at 48 unless set.
- llama.cpp: every slot has a draft context of its own (ggml-org/llama.cpp#17017); `-np` multiplies it.

`specdec-tune simulate --json` and `specdec-tune lesson kv-rollback` show the accounting on toy models.

## Telemetry plan

1. Measure the plain server first, on the user's prompts, with `--baseline-command` and `--bench-command`; then the speculative one.
2. Read acceptance where the engine states it:
{_TELEMETRY}
3. Put both under `observed:` in the profile (τ as `acceptance_length`, or counts; throughput as `output_tok_s`) and run `recommend` again: a few
   rows of the user's own outweigh the prior. `next_measurement` says which row would help most.
4. Alarm when τ falls below `decision.break_even_acceptance_length`: from there on speculation costs speed.

## When to refuse

- `state` is `off`: recommend plain decoding, with the reason.
- `state` is `measure`: recommend the measurement, not a switch.
- Exit code 3 (does not fit) or 4 (unknown model, device or version): report the sentence; do not guess a substitute.
- Rules that change the output ({_LOSSY}) only when the user accepts changed output in so many words.
- Never copy a draft length from a blog or from another target, batch or temperature: run the profile.
"""


_SPECULATIVE_DECODING = f"""---
name: speculative-decoding
description: Decide whether speculative decoding is worth using at all for an LLM deployment, with specdec-tune, before any tuning.
---

# Whether to use speculative decoding at all

Speculative decoding drafts tokens cheaply and checks them in one pass of the target; the output distribution stays the same.
It trades spare arithmetic for fewer passes. The numbers below come from the tool, not from this page.

## Ask three things

1. **Is decoding what takes the time?** Short answers and long prompts are prefill: the recommendation warns with code `diluted`
   and gives the end-to-end gain.
2. **Is there arithmetic to spare?** At large batch, on targets with few active parameters, on CPU or with experts in host memory a
   check of several tokens costs nearly as much as several steps: `verify_cost_ratio` in the JSON.
3. **Is there a drafter for this target?** A head trained for it, layers in the checkpoint, a small model with the same tokenizer, or text
   that repeats its prompt:

   ```bash
   specdec-tune catalog drafters llama-3.3
   specdec-tune catalog methods
   ```

## Decide

```bash
specdec-tune recommend chat-llama-3.3-70b --json
specdec-tune recommend offline-batch-256 --json
```

`decision.state` is the answer: `on`, `off`, `measure`. `decision.break_even_acceptance_length` is the number of tokens a step must
emit to pay; no acceptance percentage decides by itself.

```bash
specdec-tune why chat-llama-3.3-70b --json
specdec-tune sweep --alpha 0.5,0.7,0.9 --c 0.05 --k 1:8 --json
```

## When not

- `state` is `off`, or the gain disappears in the warning `diluted`.
- No drafter and text that does not repeat (warning `no-drafter`).
- The load is above `schedule.by_batch`'s last speculative row most of the time.
- The user needs bitwise equality with plain decoding: the law of the output is unchanged, single runs may differ by rounding.
  `specdec-tune verify --json` proves the law on a small vocabulary.

Commands are written for {_ENGINES}. Once it is on, continue with the skill `eagle3-tuner`.
"""


#: Markdown by name.
SKILLS: dict[str, str] = {
    "eagle3-tuner": _EAGLE3_TUNER,
    "speculative-decoding": _SPECULATIVE_DECODING,
}


def skill_text(name: str) -> str:
    """Return the Markdown of a skill."""
    return SKILLS[name]
