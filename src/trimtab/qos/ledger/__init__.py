"""The accounts: how long each controller's pods ran and waited. Pure."""
