"""Functions that add nodes to graphs.

Arguments that mean the same in all of them are told here, and not in each.

Args:
    name: of the node, or of the scope of several; None for a name of the function.
    seed: of the op, which with that of the graph says what is drawn; None for one of its number in the graph.
    use_locking: changes nothing: a write to a variable is whole.
    parallel_iterations: is noted in the node of a loop; iterations run one after another.
    back_prop: changes nothing: there are gradients.
    swap_memory: changes nothing.
    _sentinel: must be left out, so that what follows is given by name.
"""
