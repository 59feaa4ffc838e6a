"""The state machine of a VirtPlatformConfig. Pure."""
