"""What the page shows, as pictures and the changes between them: live, or from a file."""
