"""A control plane on this computer: components as data, one supervisor that executes them."""
