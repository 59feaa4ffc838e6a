"""Who is scheduled before whom: keys, stamps, and what waits for whom."""
