"""Interoperability: unmodified Kafka clients run one set of scenarios against a broker process."""
