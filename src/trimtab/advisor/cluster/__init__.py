"""The advisor's reading and writing of a cluster, or of a directory of manifests."""
