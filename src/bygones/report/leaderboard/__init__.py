"""The page of the map."""
