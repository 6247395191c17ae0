"""The messages of a training step: what a model and a parallelisation plan put on a WAN.

`model` reads a Hugging Face config.json, `plan` the TOML beside it, `messages` turns both into the list of messages
that one training step sends from one datacenter to the other, scaled to what the lab's link can carry.
"""
