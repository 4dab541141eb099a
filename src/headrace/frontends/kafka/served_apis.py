"""What this front door serves: the one table of API keys, versions and handlers.

Only what works is listed: clients change their behaviour on the mere presence of a key.
"""

from __future__ import annotations

from typing import NamedTuple


class Handler(NamedTuple):
    """One API: where its handler is, the versions it serves, and from where we advertise it."""

    module: str
    version_min: int
    version_max: int
    advertised_min: int


def _handler(name: str, version_min: int, version_max: int, advertised_min: int = -1) -> Handler:
    return Handler(
        f"headrace.frontends.kafka.handlers.{name}",
        version_min,
        version_max,
        version_min if advertised_min < 0 else advertised_min,
    )


HANDLERS: dict[int, Handler] = {
    # Advertised from 0, served from 3: older librdkafka gives up compression otherwise
    # (KAFKA-18659).
    0: _handler("api_00_produce", 3, 13, advertised_min=0),
    1: _handler("api_01_fetch", 4, 18),
    2: _handler("api_02_list_offsets", 1, 11),
    3: _handler("api_03_metadata", 0, 13),
    8: _handler("api_08_offset_commit", 2, 10),
    9: _handler("api_09_offset_fetch", 1, 10),
    10: _handler("api_10_find_coordinator", 0, 6),
    11: _handler("api_11_join_group", 0, 9),
    12: _handler("api_12_heartbeat", 0, 4),
    13: _handler("api_13_leave_group", 0, 5),
    14: _handler("api_14_sync_group", 0, 5),
    15: _handler("api_15_describe_groups", 0, 6),
    16: _handler("api_16_list_groups", 0, 5),
    17: _handler("api_17_sasl_handshake", 0, 1),
    18: _handler("api_18_api_versions", 0, 4),
    19: _handler("api_19_create_topics", 2, 7),
    20: _handler("api_20_delete_topics", 1, 6),
    21: _handler("api_21_delete_records", 0, 2),
    22: _handler("api_22_init_producer_id", 0, 5),
    23: _handler("api_23_offset_for_leader_epoch", 2, 4),
    24: _handler("api_24_add_partitions_to_txn", 0, 5),
    25: _handler("api_25_add_offsets_to_txn", 0, 4),
    26: _handler("api_26_end_txn", 0, 5),
    27: _handler("api_27_write_txn_markers", 1, 2),
    28: _handler("api_28_txn_offset_commit", 0, 5),
    29: _handler("api_29_describe_acls", 1, 3),
    30: _handler("api_30_create_acls", 1, 3),
    31: _handler("api_31_delete_acls", 1, 3),
    32: _handler("api_32_describe_configs", 1, 4),
    33: _handler("api_33_alter_configs", 0, 2),
    34: _handler("api_34_alter_replica_log_dirs", 1, 2),
    35: _handler("api_35_describe_log_dirs", 1, 5),
    36: _handler("api_36_sasl_authenticate", 0, 2),
    37: _handler("api_37_create_partitions", 0, 3),
    42: _handler("api_42_delete_groups", 0, 2),
    43: _handler("api_43_elect_leaders", 0, 2),
    44: _handler("api_44_incremental_alter_configs", 0, 1),
    45: _handler("api_45_alter_partition_reassignments", 0, 1),
    46: _handler("api_46_list_partition_reassignments", 0, 0),
    47: _handler("api_47_offset_delete", 0, 0),
    48: _handler("api_48_describe_client_quotas", 0, 1),
    49: _handler("api_49_alter_client_quotas", 0, 1),
    50: _handler("api_50_describe_user_scram_credentials", 0, 0),
    51: _handler("api_51_alter_user_scram_credentials", 0, 0),
    55: _handler("api_55_describe_quorum", 0, 2),
    57: _handler("api_57_update_features", 0, 2),
    60: _handler("api_60_describe_cluster", 0, 2),
    61: _handler("api_61_describe_producers", 0, 0),
    64: _handler("api_64_unregister_broker", 0, 0),
    65: _handler("api_65_describe_transactions", 0, 0),
    66: _handler("api_66_list_transactions", 0, 2),
    68: _handler("api_68_consumer_group_heartbeat", 0, 1),
    69: _handler("api_69_consumer_group_describe", 0, 1),
    74: _handler("api_74_list_config_resources", 0, 1),
    75: _handler("api_75_describe_topic_partitions", 0, 0),
}
