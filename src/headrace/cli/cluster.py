"""``headrace cluster``: describe, set-feature. (Typer reads these annotations.)"""

from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.direct_client import DirectClient
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.codecs.kafka.error_codes import ErrorCode
from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.codecs.kafka.generated.describe_cluster import DescribeClusterRequest
from headrace.codecs.kafka.generated.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from headrace.codecs.kafka.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from headrace.codecs.kafka.messages import API_NAMES, VALID_VERSIONS
from headrace.model.topic import CLUSTER_METADATA_TOPIC

API_VERSIONS, DESCRIBE_QUORUM, UPDATE_FEATURES, DESCRIBE_CLUSTER = 18, 55, 57, 60
FEATURES_FROM, FEATURES_FROM_ZERO = 3, 4
"""Versions of ApiVersions: the first that tells features, and the first that tells all."""
KINDS_FROM = 1
"""The version of UpdateFeatures that knows kinds of updates."""
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
LEVEL_MAX = 2**15 - 1
_USAGE = {ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_REQUEST}

app = typer.Typer(
    help="Look at the cluster: its nodes, features and quorum; change the level of a feature.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("describe")
def describe(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006 - typer copies it
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Show the cluster's id, its nodes, the levels of its features, and its quorum."""
    with DirectClient(bootstrap, parse_assignments(client, "-X"), timeout) as direct:
        served = _Served(direct)
        cluster = served.call(DESCRIBE_CLUSTER, DescribeClusterRequest())
        features = served.features()
        quorum = served.maybe_quorum()
    nodes: list[output.Row] = [
        {"node": each.broker_id, "host": each.host, "port": each.port, "rack": each.rack}
        for each in cluster.brokers
    ]
    identity: output.Row = {
        "cluster": cluster.cluster_id,
        "controller": cluster.controller_id,
    }
    if as_json:
        whole = {**identity, "nodes": nodes, "features": features, "quorum": quorum}
        output.print_json(whole)
        return
    output.print_pairs(identity, as_json=False)
    output.print_rows(nodes, ("node", "host", "port", "rack"), as_json=False)
    output.print_rows(features, ("feature", "level", "supported"), as_json=False)
    if quorum is None:
        output.note("the broker does not tell its quorum")
        return
    voters = quorum.pop("voters")
    output.print_pairs(quorum, as_json=False)
    output.print_rows(voters, ("voter", "end_offset"), as_json=False)


@app.command("set-feature")
def set_feature(
    features: Annotated[list[str], typer.Argument(metavar="NAME=LEVEL...")],
    downgrade: Annotated[
        bool, typer.Option("--downgrade", help="The level may fall, if nothing is lost.")
    ] = False,
    unsafe_downgrade: Annotated[
        bool, typer.Option("--unsafe-downgrade", help="The level may fall.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say whether it could be done.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Change the level of features, all or none.

    \b
    headrace cluster set-feature transaction.version=1 --downgrade
    headrace cluster set-feature transaction.version=2
    """
    kind = UNSAFE_DOWNGRADE if unsafe_downgrade else SAFE_DOWNGRADE if downgrade else UPGRADE
    levels = {name: _level(name, text) for name, text in parse_assignments(features, "").items()}
    updates = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level in levels.items()]
    request = UpdateFeaturesRequest(int(timeout * 1_000), updates, dry_run)
    with DirectClient(bootstrap, parse_assignments(client, "-X"), timeout) as direct:
        answer = _Served(direct).call(UPDATE_FEATURES, request, version_min=KINDS_FROM)
    for result in answer.results:
        _raise_if_failed(result, result.feature)
    if as_json:
        output.print_json({"features": levels, "changed": not dry_run})
    else:
        verb = "could be set" if dry_run else "set"
        print(f"{verb}: {', '.join(f'{name}={level}' for name, level in levels.items())}")


class _Served:
    """A broker, and which versions it serves: the newest that both sides know is used."""

    def __init__(self, direct: DirectClient) -> None:
        self._direct = direct
        self._answer = self._api_versions(FEATURES_FROM)
        self._versions = {
            each.api_key: (each.min_version, each.max_version) for each in self._answer.api_keys
        }
        if self._versions[API_VERSIONS][1] >= FEATURES_FROM_ZERO:
            self._answer = self._api_versions(FEATURES_FROM_ZERO)

    def call(self, api_key: int, request: Any, version_min: int = 0) -> Any:
        """The answer; Failure if it is an error, or if the broker does not know the question."""
        name = API_NAMES[api_key]
        low, high = self._versions.get(api_key, (0, -1))
        version = min(high, VALID_VERSIONS[api_key][1])
        if version < max(low, version_min):
            raise Failure(f"the broker does not serve {name}")
        answer = self._direct.call(api_key, version, request)
        _raise_if_failed(answer, name)
        return answer

    def features(self) -> list[output.Row]:
        levels = {each.name: each.max_version_level for each in self._answer.finalized_features}
        ranges = {each.name: each for each in self._answer.supported_features}
        return [
            {
                "feature": name,
                "level": levels.get(name, 0),
                "supported": f"{ranges[name].min_version}-{ranges[name].max_version}"
                if name in ranges
                else None,
            }
            for name in sorted(levels.keys() | ranges.keys())
        ]

    def maybe_quorum(self) -> Any:
        """None if the broker has none, or the one who asks may not know."""
        if DESCRIBE_QUORUM not in self._versions:
            return None
        wanted = RequestTopicData(CLUSTER_METADATA_TOPIC, [RequestPartitionData(0)])
        try:
            answer = self.call(DESCRIBE_QUORUM, DescribeQuorumRequest([wanted]))
        except _Refused as refused:
            if refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                return None
            raise
        (partition,) = answer.topics[0].partitions
        _raise_if_failed(partition, CLUSTER_METADATA_TOPIC)
        return {
            "leader": partition.leader_id,
            "epoch": partition.leader_epoch,
            "high_watermark": partition.high_watermark,
            "voters": [
                {"voter": voter.replica_id, "end_offset": voter.log_end_offset}
                for voter in partition.current_voters
            ],
        }

    def _api_versions(self, version: int) -> Any:
        request = ApiVersionsRequest("headrace-cli", "1")
        answer = self._direct.call(API_VERSIONS, version, request)
        _raise_if_failed(answer, API_NAMES[API_VERSIONS])
        return answer


class _Refused(Failure):
    """The broker answered with an error."""

    def __init__(self, what: str, answer: Any) -> None:
        self.error_code: int = answer.error_code
        is_known = self.error_code in ErrorCode.__members__.values()
        name = ErrorCode(self.error_code).name if is_known else f"error {self.error_code}"
        message = getattr(answer, "error_message", None) or "refused"
        status = ExitCode.USAGE if self.error_code in _USAGE else ExitCode.FAILED
        super().__init__(f"{what}: {message} ({name})", status)


def _raise_if_failed(answer: Any, what: str) -> None:
    if answer.error_code != ErrorCode.NONE:
        raise _Refused(what, answer)


def _level(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) > LEVEL_MAX:
        raise Failure(f"{name}={text}: a level is 0 to {LEVEL_MAX}", ExitCode.USAGE)
    return int(text)
