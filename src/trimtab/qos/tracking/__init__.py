"""Follows the cluster: pods and owners of the watches become entries of the ledger."""
