"""Wrong variants of our function, which the recorded cycles must tell from the right one."""
