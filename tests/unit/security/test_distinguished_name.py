import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import AuthenticationFailed
from headrace.security.distinguished_name import (
    NAME_CHARACTERS_MAX,
    distinguished_name,
    subject_of,
)


def test_last_name_comes_first_with_kafkas_keywords():
    subject = (
        (("countryName", "DE"),),
        (("stateOrProvinceName", "BW"),),
        (("localityName", "Ulm"),),
        (("organizationName", "Headrace"),),
        (("organizationalUnitName", "Ops"),),
        (("commonName", "alice"),),
    )
    expected = "CN=alice,OU=Ops,O=Headrace,L=Ulm,ST=BW,C=DE"
    assert distinguished_name(subject) == expected
    assert subject_of({"subject": subject}) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a,b", "a\\,b"),
        ('<a>+"b";\\#=', '\\<a\\>\\+\\"b\\"\\;\\\\\\#\\='),
        (" a b ", "\\ a b\\ "),
        ("  ", "\\ \\ "),
        ("ü", "ü"),
        ("a\0b", "a\\00b"),
    ],
)
def test_special_characters_are_escaped(value, expected):
    assert distinguished_name(((("commonName", value),),)) == f"CN={expected}"


def test_several_attributes_at_one_level_are_joined():
    subject = ((("commonName", "alice"), ("userId", "7")),)
    assert distinguished_name(subject) == "CN=alice+UID=7"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("emailAddress", "a@b.c", "1.2.840.113549.1.9.1=#1605614062" + "2e63"),
        ("serialNumber", "42", "2.5.4.5=#13023432"),
        ("title", "ü", "2.5.4.12=#0c02c3bc"),
        ("1.2.3.4", "x", "1.2.3.4=#0c0178"),
        ("title", "x" * 200, "2.5.4.12=#0c81c8" + "78" * 200),
    ],
)
def test_other_attributes_appear_as_der(name, value, expected):
    assert distinguished_name((((name, value),),)) == expected


@pytest.mark.parametrize("certificate", [{}, {"subject": ()}, {"subject": "CN=x"}])
def test_certificate_without_subject_is_refused(certificate):
    with pytest.raises(AuthenticationFailed):
        subject_of(certificate)


def test_endless_subject_is_refused():
    with pytest.raises(AuthenticationFailed):
        distinguished_name(((("commonName", "x" * NAME_CHARACTERS_MAX),),))


@given(st.text(min_size=1, max_size=30))
def test_value_cannot_forge_another_attribute(value):
    text = distinguished_name(((("commonName", value),),))
    bare = text[3:].replace("\\\\", "")
    assert all(bare[i - 1] == "\\" for i, c in enumerate(bare) if c in ",+=" and i > 0)
    assert bare[:1] not in (",", "+", "=")
