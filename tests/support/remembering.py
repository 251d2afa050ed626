"""The same events remembered one by one, as the memory itself does it."""

import numpy as np

from bygones.memory import Discounted, PerfectRecall


def remembered(events, half_life, end):
    """What is remembered at the end of (agent, time, utility) events, one after the other, by the memory itself."""
    names = sorted({agent for agent, _, _ in events})
    memory = PerfectRecall() if np.isinf(half_life) else Discounted(half_life=1.0)
    step = 1.0 if np.isinf(half_life) else half_life
    state, now = memory.init(len(names)), None
    for agent, time, utility in sorted(events, key=lambda event: event[1]):
        elapsed = 0 if now is None else (time - now) / step
        state = memory.update(state, [utility if name == agent else 0.0 for name in names], elapsed)
        now = time
    state = memory.update(state, np.zeros(len(names)), (end - now) / step)
    return dict(zip(names, memory.values(state).tolist(), strict=True))
