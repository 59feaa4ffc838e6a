"""What is measured during a run, and the report card at its end."""
