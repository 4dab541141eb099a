"""The command line: one file per verb. Heavy libraries are imported when a verb needs them."""
