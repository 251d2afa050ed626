"""Learning problems: the paper's environment, and past-discounted fairness for other people's environments."""
