"""The torch stack: one implementation of each kernel, carried out on a processor, a GPU or a NeuronCore.

A kernel prepares a `Launch`: what to call, how to check it. A device makes a `Program` of launches: how
the end is awaited, by which clock, what is flushed. Backends belong to whoever owns the machine: the
host plugin, the cuda plugin, and `trnbench_torch.neuron` for NeuronCores.

Nothing here imports torch before a case is prepared.
"""
