"""Pipeline jobs for people: a TOML file, a state directory, a process that is kept running.

Nothing here needs Spark to be loaded: only the process that runs a job imports it.
"""
