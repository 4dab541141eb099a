"""Generator of the Kafka protocol codecs: schemas in, straight-line Python modules out."""
