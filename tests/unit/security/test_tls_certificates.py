from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from headrace.model.errors import InvalidRequest
from headrace.security.tls_certificates import HOSTS_MAX, Authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority():
    return Authority("Headrace test", NOW, valid_days=10)


def read(key_pair):
    return x509.load_pem_x509_certificate(key_pair.certificate)


def test_server_certificate_names_its_hosts(authority):
    certificate = read(authority.server(["localhost", "127.0.0.1", "::1"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    certificate.verify_directly_issued_by(read(authority.key_pair))


def test_client_certificate_is_for_clients_only(authority):
    certificate = read(authority.client("alice"))
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificate.subject.rfc4514_string() == "CN=alice"
    assert certificate.not_valid_after_utc == NOW + timedelta(days=10)
    assert certificate.not_valid_before_utc < NOW


def test_authority_may_sign_and_others_may_not(authority):
    for pair, is_authority in ((authority.key_pair, True), (authority.client("a"), False)):
        constraints = read(pair).extensions.get_extension_for_class(x509.BasicConstraints).value
        assert constraints.ca is is_authority


def test_key_is_not_printed(authority):
    assert "PRIVATE" not in repr(authority.key_pair)
    assert b"PRIVATE" in authority.key_pair.key


@pytest.mark.parametrize("hosts", [[], ["h"] * (HOSTS_MAX + 1), [""], ["x" * 65], ["bücher"]])
def test_bad_hosts_are_refused(authority, hosts):
    with pytest.raises(InvalidRequest):
        authority.server(hosts)
