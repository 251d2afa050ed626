"""The paper's experiment: the grid, where and how it runs, results, statistics, claims and the optimum."""
