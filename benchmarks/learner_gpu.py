"""The learner on an accelerator: a batch of runs of the paper's grid, and where its time goes.

    PYTHONPATH=src python3 -m benchmarks.learner_gpu --runs 1000 --rollouts 4 \
        --variants "flat=0 unroll=1" "flat=0 unroll=1 matvec=0" "flat=1 unroll=4" "precision=TF32_TF32_F32_X3" --split
    PYTHONPATH=src python3 -m benchmarks.learner_gpu --runs 1000 --steps 1000000 --full out/grid "flat=0 matvec=0"

Each variant is compiled (timed; a second call finds it in the cache on disk) and then timed over a few rollouts,
which extrapolates to a whole run, since every rollout costs the same. `--full` trains to the end with one variant and
keeps what came out.

Tried on an H200 and not kept, by the time of a rollout: the first layers of policy and value as one product (as fast),
their second layers as one batch of products (7% slower), both networks as one with zeros between (37% slower).
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measure import matmul_rate, operations_per_step, paper_grid
from bygones.learn import cache_compilations, iterations, ppo, rollouts, runs, train_batch
from bygones.learn.programs import stacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="runs in the batch")
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of each run, for extrapolation and --full")
    parser.add_argument("--rollouts", type=int, default=4, help="rollouts over which a variant is timed")
    parser.add_argument("--variants", nargs="*", default=["flat=0"], help='choices, e.g. "flat=0 unroll=2 matvec=0"')
    parser.add_argument("--split", action="store_true", help="also time the parts of an iteration")
    parser.add_argument("--cache", default="out/compiled", help="folder of compiled programs")
    parser.add_argument("--full", nargs=2, metavar=("FOLDER", "VARIANT"), help="train to the end, keep the results")
    parser.add_argument("--segment", type=int, default=32, help="rollouts between checkpoints with --full")
    args = parser.parse_args()
    cache_compilations(args.cache)
    device = jax.devices()[0]
    print(f"device        {device.device_kind} ({device.platform}), jax {jax.__version__}", flush=True)
    settings = paper_grid(args.runs, args.steps)
    if args.full:
        full(settings, *args.full, segment=args.segment)
        return
    rates = {"square": matmul_rate(4096 if device.platform != "cpu" else 512)}
    rates["batched 64x64x64"] = matmul_rate(64, batch=args.runs)
    for name, rate in rates.items():
        print(f"matmul rate   {rate / 1e12:.2f} TFLOP/s float32, {name}", flush=True)
    for variant in args.variants:
        try:
            measure(settings, variant, args.rollouts, args.split, rates["square"])
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            print(f"{variant}: refused by the device: {str(error)[:300]}", flush=True)


def measure(settings: list[Any], variant: str, rollouts: int, split: bool, rate: float) -> None:
    shape, params, numbers, state = begun(settings, variant)
    program = runs._compiled(shape, rollouts, True)
    start = time.perf_counter()
    compiled = program.lower(state, params, numbers, 0).compile()
    compile_time = time.perf_counter() - start
    state, _ = jax.block_until_ready(compiled(state, params, numbers, jnp.asarray(1, jnp.int32)))
    start = time.perf_counter()
    state, _ = jax.block_until_ready(compiled(state, params, numbers, jnp.asarray(rollouts, jnp.int32)))
    each = (time.perf_counter() - start) / rollouts
    steps = len(settings) * shape.rollout_steps
    work = sum(operations_per_step(settings[0]).values())
    print(
        f"\n{variant}\n  compile {compile_time:.1f} s, {each * 1e3:.1f} ms a rollout, "
        f"{steps / each / 1e6:.2f} M steps/s, whole runs {each * settings[0].rollouts:.1f} s, "
        f"{steps / each * work / rate:.1%} of the matmul rate, peak memory {peak_memory()}",
        flush=True,
    )
    if split:
        for name, seconds in parts(shape, params, numbers, state).items():
            print(f"  {name:14s} {seconds * 1e3:9.2f} ms", flush=True)


def begun(settings: list[Any], variant: str) -> tuple[iterations.Shape, Any, Any, iterations.RunState]:
    """The program's shape, and the batch before its first rollout."""
    shape = runs.shape_of(settings[0], **choices(variant))
    params, numbers = (stacked([of(run) for run in settings], True) for of in (runs.params_of, runs.numbers_of))
    state = runs.begin(settings, None, shape, True)
    return shape, params, numbers, state


def parts(shape: iterations.Shape, params: Any, numbers: Any, state: iterations.RunState) -> dict[str, float]:
    """Seconds of each part of an iteration, compiled apart."""
    keys = jax.vmap(jax.random.wrap_key_data)(state.key)

    def timed(function: Any, *args: Any) -> tuple[Any, float]:
        with jax.default_matmul_precision(shape.precision):
            program = jax.jit(jax.vmap(function)).lower(*args).compile()
        jax.block_until_ready(program(*args))
        start = time.perf_counter()
        result = jax.block_until_ready(program(*args))
        return result, time.perf_counter() - start

    collect = functools.partial(rollouts.collect, shape=shape)
    (rollout, after, _), collecting = timed(collect, keys, state.networks, state.environment, params)
    (samples, _), evaluating = timed(functools.partial(ppo.samples_of, shape=shape), state.networks, rollout, numbers)
    order, ordering = timed(functools.partial(ppo.permutations, shape=shape), keys)
    improve = functools.partial(ppo.improve, shape=shape)
    _, improving = timed(improve, state.networks, state.adam, samples, order, numbers)
    each_step = jax.vmap(shape.environment.metrics, in_axes=(0, None))
    _, judging = timed(each_step, after, params)
    return {
        "collect": collecting, "evaluate": evaluating, "orders": ordering, "epochs": improving,
        "one epoch": improving / shape.epochs, "metrics": judging,
    }  # fmt: skip


def full(settings: list[Any], folder: str, variant: str, segment: int) -> None:
    """Trains every run to the end and keeps final metrics, curves and policies."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    marks = []

    def tell(news: runs.RunProgress) -> None:
        marks.append((news.steps, time.perf_counter() - began))
        print(f"  {news.steps:9d} of {news.total_steps} steps each, {marks[-1][1]:.1f} s", flush=True)

    results = train_batch(settings, progress=tell, segment=segment, batched=True, **choices(variant))
    total = time.perf_counter() - began
    (first, at_first), (last, at_last) = marks[0], marks[-1]
    rate = (last - first) * len(settings) / (at_last - at_first) if last > first else float("nan")
    report = {
        "device": jax.devices()[0].device_kind,
        "variant": variant,
        "runs": len(settings),
        "seconds, compilation included": total,
        "seconds to the first mark": at_first,
        "steps a second after the first mark": rate,
        "seconds for the whole at that rate": last * len(settings) / rate,
        "peak memory": peak_memory(),
        "stopped runs": sum(result.stopped_at is not None for result in results),
    }
    print(json.dumps(report, indent=2), flush=True)
    (place / "timing.json").write_text(json.dumps(report, indent=2))
    rows = [{**r.settings.to_dict(), "final": r.final, "stopped_at": r.stopped_at} for r in results]
    (place / "final.json").write_text(json.dumps(rows))
    curves = {name: np.stack([r.curves[name] for r in results if r.stopped_at is None]) for name in results[0].curves}
    np.savez_compressed(place / "curves.npz", **curves)
    for i, result in enumerate(results):
        result.policy.save(place / "policies" / f"{i:04d}.safetensors")


def choices(variant: str) -> dict[str, Any]:
    """`"flat=0 unroll=4 precision=highest"` as arguments of `iterations.Shape`."""
    options = dict(word.split("=") for word in variant.split())
    kinds = {"flat": lambda v: bool(int(v)), "matvec": lambda v: bool(int(v)), "unroll": int}
    return {name: kinds.get(name, str)(value) for name, value in options.items()}


def peak_memory() -> str:
    stats = jax.devices()[0].memory_stats()
    return f"{stats['peak_bytes_in_use'] / 2**30:.1f} GiB" if stats else "unknown"


if __name__ == "__main__":
    main()
