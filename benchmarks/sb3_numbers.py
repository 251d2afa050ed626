"""Stable-Baselines3's own numbers, recorded once, and ours from the same rollouts on any device.

    PYTHONPATH=src python -m benchmarks.sb3_numbers record out/sb3-numbers
    PYTHONPATH=src python3 -m benchmarks.sb3_numbers check out/sb3-numbers --precisions highest TF32_TF32_F32_X3

`record` needs Stable-Baselines3. `check` needs JAX alone: it reports the distance between both sets of parameters after
one gradient step, relative to their size, and after a whole call of `train()`, as a share of the distance travelled.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from bygones.learn import iterations, ppo, rollouts, runs
from bygones.learn.networks import Networks, initial
from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings

CASES = {
    "many short episodes": Settings(horizon=30, gamma=0.9, welfare="nash", seed=1),
    "a few episodes, unscaled perfect recall": Settings(horizon=700, gamma=1.0, welfare="egalitarian", seed=2),
    "no episode ends": Settings(horizon=10_000, gamma=0.999, welfare="nash", seed=3),
    "averaged, true ends, entropy": Settings(
        horizon=100, gamma=0.99, aggregation="averaged", ends="termination", seed=4, entropy_weight=0.01
    ),
}


class Recorded(NamedTuple):
    """What Stable-Baselines3 saw, computed and learned."""

    start: Networks
    rollout: rollouts.Rollout
    order: np.ndarray
    values: np.ndarray
    log_probs: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray
    after_one: Networks
    after_all: Networks


def record(settings: Settings) -> Recorded:
    """Lets Stable-Baselines3 act and learn, and keeps all it computed."""
    import gymnasium
    import torch
    from stable_baselines3.common.buffers import RolloutBuffer

    from bygones.envs.env import FairEnv
    from bygones.learn import sb3

    torch.set_num_threads(1)
    steps: list[tuple[Any, ...]] = []

    class Recorder(gymnasium.Wrapper):
        """Keeps every step as the environment gave it, before the learner touches the reward."""

        def step(self, action: Any) -> Any:
            result = super().step(action)
            steps.append((action, *result[:4]))
            return result

    def networks() -> Networks:
        return TrainedPolicy.from_state_dict(settings, model.policy.state_dict()).networks

    model = sb3.learner(settings, Recorder(FairEnv(problem=settings.problem())))
    _, callback = model._setup_learn(settings.rollout_steps)
    start = networks()
    buffer = model.rollout_buffer
    model.collect_rollouts(model.env, callback, buffer, settings.rollout_steps)
    actions, reached, rewards, terminated, truncated = (np.array(column) for column in zip(*steps, strict=True))
    rollout = rollouts.Rollout(
        observations=buffer.observations[:, 0].copy(),
        actions=actions.astype(np.int32),
        rewards=rewards.astype(np.float32),
        terminated=terminated,
        truncated=truncated,
        reached=reached,
        last=model._last_obs[0],
    )
    computed = [getattr(buffer, name)[:, 0].copy() for name in ("values", "log_probs", "advantages", "returns")]
    rng = np.random.default_rng(settings.seed)
    order = np.stack([rng.permutation(settings.rollout_steps) for _ in range(settings.epochs)])
    weights = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}

    whole = RolloutBuffer.get
    model.n_epochs = 1
    with (
        mock.patch.object(np.random, "permutation", return_value=order[0]),
        mock.patch.object(RolloutBuffer, "get", lambda self, size: [next(whole(self, size))]),
    ):
        model.train()
    after_one = networks()

    model.policy.load_state_dict(weights)
    rate, eps = settings.learning_rate, settings.adam_eps
    model.policy.optimizer = model.policy.optimizer_class(model.policy.parameters(), lr=rate, eps=eps)
    model.n_epochs = settings.epochs
    with mock.patch.object(np.random, "permutation", mock.Mock(side_effect=list(order))):
        model.train()
    return Recorded(start, rollout, order, *computed, after_one, networks())


def improved(
    start: Networks, rollout: rollouts.Rollout, order: Any, numbers: iterations.Numbers, shape: iterations.Shape
) -> Networks:
    """Our parameters after a rollout, its minibatches taken in the given order."""
    with jax.default_matmul_precision(shape.precision):
        samples, _ = ppo.samples_of(start, rollout, numbers, shape)
        zeros = jax.tree.map(jnp.zeros_like, start)
        adam = iterations.Adam(zeros, zeros, jnp.zeros((), jnp.int32))
        return ppo.improve(start, adam, samples, order, numbers, shape)[0]


def relative(ours: Networks, theirs: Networks) -> float:
    """The difference of the parameters, relative to their size."""
    a, b = vectors(ours, theirs)
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def share_of_way(ours: Networks, theirs: Networks, start: Networks) -> float:
    """The distance between the two, as a share of the distance travelled."""
    a, b, origin = vectors(ours, theirs, start)
    return float(np.linalg.norm(a - b) / np.linalg.norm(b - origin))


def vectors(*trees: Networks) -> list[np.ndarray]:
    return [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in trees]


def save(path: Path, settings: Settings, recorded: Recorded) -> None:
    leaves = {f"leaf_{i:03d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(recorded))}
    np.savez_compressed(path, settings=np.array(json.dumps(settings.to_dict())), **leaves)


def load(path: Path) -> tuple[Settings, Recorded]:
    with np.load(path, allow_pickle=False) as file:
        settings = Settings.from_dict(json.loads(str(file["settings"])))
        leaves = [file[name] for name in sorted(file.files) if name.startswith("leaf_")]
    networks = jax.tree.structure(initial(0, 1, 1, settings.hidden))
    cut = networks.num_leaves
    start, after_one, after_all = (
        jax.tree.unflatten(networks, some) for some in (leaves[:cut], leaves[-2 * cut : -cut], leaves[-cut:])
    )
    rollout, rest = rollouts.Rollout(*leaves[cut : cut + 7]), leaves[cut + 7 : -2 * cut]
    return settings, Recorded(start, rollout, *rest, after_one, after_all)


def check(folder: Path, precisions: list[str]) -> None:
    """One line per recorded rollout and precision."""
    print(f"device {jax.devices()[0].device_kind}; asked for: below 1e-6, and below 1e-3")
    compiled = jax.jit(improved, static_argnames="shape")
    for path in sorted(folder.glob("*.npz")):
        settings, recorded = load(path)
        numbers = runs.numbers_of(settings)
        for precision in precisions:
            shape = runs.shape_of(settings, precision=precision)
            first = recorded.order[:1, : settings.batch_size]
            try:
                one = compiled(recorded.start, recorded.rollout, first, numbers, shape=shape)
                all_ = compiled(recorded.start, recorded.rollout, recorded.order, numbers, shape=shape)
            except (jax.errors.JaxRuntimeError, ValueError) as error:
                print(f"  {path.stem:42s} {precision:18s} refused by the device: {str(error)[:100]}", flush=True)
                continue
            print(
                f"  {path.stem:42s} {precision:18s} first step {relative(one, recorded.after_one):.1e}, "
                f"whole call {share_of_way(all_, recorded.after_all, recorded.start):.1e}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--precisions", nargs="*", default=["highest"])
    args = parser.parse_args()
    if args.what == "check":
        check(args.folder, args.precisions)
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, settings in CASES.items():
        save(args.folder / f"{name}.npz", settings, record(settings))


if __name__ == "__main__":
    main()
