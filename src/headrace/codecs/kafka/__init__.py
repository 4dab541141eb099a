"""The Kafka wire protocol: headers, messages and error numbers, as bytes and as values."""
