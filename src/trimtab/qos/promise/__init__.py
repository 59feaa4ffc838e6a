"""What is promised to whom: SLOs as they are declared, and their limits."""
