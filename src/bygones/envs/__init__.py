"""The paper's learning problem as an environment, and wrappers that add fairness to other environments.

Importing this package registers `bygones/Allocation-v0` with Gymnasium, if it is installed.
"""

import importlib.util

if importlib.util.find_spec("gymnasium") is not None:
    from bygones.envs.registration import register

    register()
