"""From topic to Parquet: our engine, our Spark source and Spark's Kafka connector in one run."""
