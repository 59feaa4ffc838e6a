"""The real KubeVirt beside trimtab's own VMs: generated scenarios, played in two labs, compared.

scenario     what a scenario is: VMs on a few nodes, and what is done to them when
draws        scenarios from a seed
world        a lab that scenarios are played in, seen alike whoever keeps the VMs
ours, theirs the two worlds
play         one scenario in one world, with what was seen: its course
course       a course, and how it is made of what was seen (pure)
compare      two courses of one scenario: equal, explained, or not (pure)
recording    courses in files, to go on from and to compare again; table: what they say together
labs         the two labs and their places; run: batches of scenarios side by side
wrong        our programs with mistakes that the comparison must find
"""
