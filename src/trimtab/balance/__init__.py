"""Which VM moves where, at what price, and how close that is to the best possible.

`Problem` is a cluster as it is: nodes, VMs, loads, requests, what may go where. `make_plan`
answers with moves in an order that can be carried out one after the other, each with its
goal, gain, price and the alternatives that were refused. `bounds` proves how many moves
and bytes any balancer needs at least. Pure: simulator, commands and service use the same
functions.
"""
