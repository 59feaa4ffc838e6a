"""Who is scheduled before whom: promises, keys and stamps."""
