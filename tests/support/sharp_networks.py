"""Networks whose choices depend on what they see: at the start of training all actions are equally likely."""

from bygones.learn.networks import Networks, initial


def sharp(seed: int, observation_size: int, n_actions: int, hidden: tuple[int, ...], factor: float = 300) -> Networks:
    """Initial networks with the weights of the policy's head multiplied by a factor."""
    return sharpened(initial(seed, observation_size, n_actions, hidden), factor)


def sharpened(networks: Networks, factor: float = 300) -> Networks:
    """These networks with the weights of the policy's head multiplied by a factor."""
    head = networks.policy[-1]
    return networks._replace(policy=(*networks.policy[:-1], head._replace(weight=head.weight * factor)))
