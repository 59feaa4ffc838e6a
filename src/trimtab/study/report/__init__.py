"""`report.html` of a study and of a single run."""
