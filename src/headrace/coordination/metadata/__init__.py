"""The cluster's metadata: topics, configurations and producer ids, as records of a log."""
