"""TLC, wrapped so that it cannot show green for red, and its state graphs beside those of the code.

``tool`` finds it, ``config`` reads and judges a configuration before a run, ``run`` runs it, ``messages`` reads what it
says and ``outcome`` judges that, ``values`` and ``behaviour`` read its states and counterexamples, ``manifest`` knows
what must come out, ``graph`` compares graphs edge for edge, ``suite`` does all of it for many configurations.
"""
