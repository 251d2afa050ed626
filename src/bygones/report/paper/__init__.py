"""The page and the figures of the paper's experiment."""
