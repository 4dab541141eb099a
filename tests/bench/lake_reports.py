"""Reports of the lake bench with figures that are easy to reckon with."""

from __future__ import annotations

from bench.lake.outcomes import BY_PARTITIONS, BY_SIZE, GrowthPoint, Measurement, Report
from bench.lake.routes import CONNECTOR, CONNECTOR_ON_KAFKA, ENGINE, ROUTES, SOURCE


def measurement(route, rate, cpu_seconds=1.0, shape="100 B"):
    return Measurement(
        route=route,
        shape=shape,
        rows=1_000_000,
        size_bytes=116_000_000,
        seconds=1_000_000 / rate,
        broker_cpu_seconds=cpu_seconds,
        spark_cpu_seconds=4.0,
        spark_megabytes=2_000.0,
        spark_own_megabytes=1_500.0,
        broker_megabytes=80.0,
        parquet_bytes=60_000_000,
        files=4,
    )


def report(**more):
    """Two rounds of records of 100 B; the best run of the connector is one on Kafka."""
    rates = {
        ENGINE: (3_000_000, 3_600_000),
        SOURCE: (500_000, 700_000),
        CONNECTOR: (200_000, 250_000),
        CONNECTOR_ON_KAFKA: (400_000, 300_000),
    }
    cpu_seconds = {ENGINE: 0.02, SOURCE: 0.06, CONNECTOR: 1.0, CONNECTOR_ON_KAFKA: 2.0}
    runs = [
        measurement(route, rates[route][number], cpu_seconds[route])
        for number in range(2)
        for route in ROUTES
    ]
    values = {"scale": 1.0, "rounds": 2, "partitions": 4, "codec": "lz4", "parquet_codec": "snappy"}
    made = Report("2026-01-02", "full", **{**values, "machine": {"cores": "2"}, **more})
    made.measurements.extend(runs)
    return made


def with_growth(made):
    for curve, xs in ((BY_PARTITIONS, (1, 4, 16)), (BY_SIZE, (1.0, 5.0))):
        made.growth.extend(
            GrowthPoint(curve, x, measurement(route, 1_000 * x))
            for x in xs
            for route in (ENGINE, CONNECTOR)
        )
    return made
