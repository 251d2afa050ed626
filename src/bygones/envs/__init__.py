"""The paper's learning problem as an environment, and fairness for other people's environments.

Importing this package tells Gymnasium, where it is installed, of `bygones/Allocation-v0`.
"""

import importlib.util

if importlib.util.find_spec("gymnasium") is not None:
    from bygones.envs.registration import register

    register()
