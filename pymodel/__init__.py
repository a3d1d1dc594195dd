"""The explorer and what it explores.

``system``, ``explore``, ``result``, ``symmetry`` and ``liveness`` are generic: states, actions, properties.
``scenario``, ``bodies``, ``subject`` and ``workload`` turn a scenario under a subject into such a system. ``rules`` is
the reference model, written from the rules and independent of the runtime package.
"""
