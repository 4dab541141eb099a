"""Certificates of the bench: usable, and the key for nobody else."""

from __future__ import annotations

import ssl

from bench.tls import KEY_MODE, make_tls_files


def test_files_hold_a_broker_and_the_authority_that_vouches_for_it(tmp_path):
    files = make_tls_files(tmp_path)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.keystore)
    client = ssl.create_default_context(cafile=files.authority)
    assert client.cert_store_stats()["x509_ca"] >= 1
    assert files.keystore.stat().st_mode & 0o777 == KEY_MODE


def test_settings_name_the_files(tmp_path):
    files = make_tls_files(tmp_path)
    assert files.broker_settings["ssl.keystore.location"] == str(files.keystore)
    assert files.client_settings["ssl.ca.location"] == str(files.authority)
