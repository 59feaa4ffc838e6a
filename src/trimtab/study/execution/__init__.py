"""Running a study: tasks, workers, and what is still missing."""
