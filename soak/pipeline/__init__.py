"""Jobs of the data pipeline under kill -9: every offset of the source is in the output once."""
