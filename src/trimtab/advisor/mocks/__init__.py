"""Stand-ins for OpenShift's own definitions and objects, so that labs and tests can do without.

Written from what the real definitions say: fields, enums, defaults, list types. Nothing in
the product asks whether a definition is one of these.
"""
