"""The page, in a browser and in a terminal."""
