"""The append-only log, on a Disk port, in the files of Kafka 4."""
