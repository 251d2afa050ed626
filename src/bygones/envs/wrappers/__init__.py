r"""Past-discounted fairness for any environment whose reward is a vector.

MO-Gymnasium's environments return one reward per objective and give its bounds in `reward_space`. Treat each objective
as an agent and its reward as the agent's utility $u_i^t$: two fishers, four road users, the resources of a village. Two
wrappers turn such an environment into the paper's learning problem:

- `RememberRewards` adds the memory $Z^t$ to the observation. Without it no policy can know whose turn it is.
- `FairReward` turns the vector reward into the number $(1-\lambda)\sum_i u_i^t + \lambda\,(W(Z^t) - W(Z^{t-1}))$.

Use them together: `FairReward(RememberRewards(env, memory), memory, "log_nash", 0.9)`. Each has its own memory, so the
memory that is observed may differ from the one that is rewarded.

`VectorRememberRewards` and `VectorFairReward` do the same for a `gymnasium.vector.VectorEnv`, for all sub-environments
at once and with every autoreset mode. Stable-Baselines3 vectorises single environments: use the first two with its
`make_vec_env`.

`FairParallel` and `FairAEC` do both at once for the environments of PettingZoo, in which every agent has a reward and
an observation, and `FairJaxMARL` for JaxMARL.
"""

from typing import TYPE_CHECKING

from bygones._parts import needed_by, on_first_use

with needed_by("bygones.envs.wrappers", "envs"):
    from bygones.envs.wrappers.single import FairReward, RememberRewards
    from bygones.envs.wrappers.vector import VectorFairReward, VectorRememberRewards

if TYPE_CHECKING:
    from bygones.envs.wrappers.marl import FairJaxMARL
    from bygones.envs.wrappers.parallel import FairParallel
    from bygones.envs.wrappers.turns import FairAEC

__all__ = [
    "FairAEC",
    "FairJaxMARL",
    "FairParallel",
    "FairReward",
    "RememberRewards",
    "VectorFairReward",
    "VectorRememberRewards",
]

if not TYPE_CHECKING:
    # Type checkers read the imports above instead. Not every environment is one of PettingZoo or JaxMARL.
    _NAMES = {"parallel": ("FairParallel",), "turns": ("FairAEC",), "marl": ("FairJaxMARL",)}
    __getattr__ = on_first_use(__name__, _NAMES, "multi-agent")
