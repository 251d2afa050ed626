r"""Past-discounted fairness for any environment whose reward is a vector.

In the convention of MO-Gymnasium an environment returns one reward per objective and says in `reward_space` between
which bounds they lie. Read each objective as an agent and its reward as that agent's utility $u_i^t$: two fishers,
four road users, the resources of a village. Two wrappers then turn it into the paper's learning problem,

- `RememberRewards` puts the memory $Z^t$ into the observation, without which no policy knows whose turn it is;
- `FairReward` turns the vector into the scalar $(1-\lambda)\sum_i u_i^t + \lambda\,(W(Z^t) - W(Z^{t-1}))$,

and are meant to be used together, `FairReward(RememberRewards(env, memory), memory, "log_nash", 0.9)`. Each keeps a
memory of its own, so they can also differ: what an agent sees of the past need not be what it is judged by.

`VectorRememberRewards` and `VectorFairReward` do the same to a `gymnasium.vector.VectorEnv`, all sub-environments in
one array operation and with every autoreset mode. (Stable-Baselines3 vectorises single environments: give
its `make_vec_env` the first two.)
"""

from bygones.envs.wrappers.single import FairReward, RememberRewards
from bygones.envs.wrappers.vector import VectorFairReward, VectorRememberRewards

__all__ = ["FairReward", "RememberRewards", "VectorFairReward", "VectorRememberRewards"]
