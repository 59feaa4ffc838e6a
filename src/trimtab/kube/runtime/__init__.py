"""Stores that follow the API server, queues, controllers, leader election, and a service."""
