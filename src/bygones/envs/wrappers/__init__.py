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
"""

from bygones._parts import needed_by

with needed_by("bygones.envs.wrappers", "envs"):
    from bygones.envs.wrappers.single import FairReward, RememberRewards
    from bygones.envs.wrappers.vector import VectorFairReward, VectorRememberRewards

__all__ = ["FairReward", "RememberRewards", "VectorFairReward", "VectorRememberRewards"]
