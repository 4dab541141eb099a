"""Which generation of the transaction protocol clients are offered: the feature of the broker."""

from __future__ import annotations

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from tests.wire.raw_client import RawClient

API_VERSIONS, API_VERSIONS_VERSION = 18, 4
FEATURE = "transaction.version"
SECOND_GENERATION = 2


def transaction_version(bootstrap_servers: str) -> int:
    """The finalised level; 0 if the broker does not name the feature."""
    with RawClient(int(bootstrap_servers.rsplit(":", 1)[1])) as client:
        request = ApiVersionsRequest(client_software_name="soak", client_software_version="1")
        answer = client.call(API_VERSIONS, API_VERSIONS_VERSION, request)
    levels = {key.name: key.max_version_level for key in answer.finalized_features}
    level: int = levels.get(FEATURE, 0)
    return level
