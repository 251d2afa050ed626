"""The paper's learning problem as an environment, and fairness for other people's environments."""
