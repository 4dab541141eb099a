"""Values of records as columns: raw, JSON, Avro, Protobuf, and what the schema registry says."""
