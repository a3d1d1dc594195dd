"""The scenarios that ship, one a file, named by situation."""
