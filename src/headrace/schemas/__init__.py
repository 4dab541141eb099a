"""The schema registry without any I/O: what schemas are, which fit together, who has which id."""
