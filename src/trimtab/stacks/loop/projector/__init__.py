"""The projector: policy and rules from ConfigMaps to the files that programs read."""
