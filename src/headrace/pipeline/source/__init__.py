"""``spark.read.format("headrace")`` and ``spark.readStream``: the options and the columns of
Spark's Kafka source.
"""
