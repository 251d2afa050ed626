"""The page of the paper's experiment."""
