"""The design in TLA+: modules, their models (``MC*``), and what TLC must find in each (``manifest.json``)."""
