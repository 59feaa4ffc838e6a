"""The exporter's endpoints: routes, bodies, problems, the token."""
