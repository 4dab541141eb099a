import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import AuthenticationFailed, InvalidConfig
from headrace.security.principal_mapping import RULES_MAX, PrincipalMapping

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
ADMIN = "CN=duke,OU=Admin,O=Org,C=US"
RULES = """
    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L ,
    RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/U,
    DEFAULT
"""


@pytest.mark.parametrize(
    ("rules", "subject", "expected"),
    [
        (RULES, DUKE, "duke"),
        (RULES, ADMIN, "DUKE@ADMIN"),
        (RULES, "CN=x", "CN=x"),
        ("DEFAULT", DUKE, DUKE),
        ("", DUKE, DUKE),
        ("RULE:^CN=([^,]+),.*$/$1/", DUKE, "Duke"),
        ("RULE:^CN=(\\w+),.*$/$1@$4/", DUKE, "Duke@$4"),
        ("RULE:^CN=(\\w+),.*$/$12/", DUKE, "Duke2"),
        ("RULE:^CN=(\\w+),.*$/\\$1/", DUKE, "$1"),
        ("RULE:^CN=(\\w+),.*$/$0/L", "CN=A,O=b", "cn=a,o=b"),
        ("RULE:CN=(\\w+),.*/a\\/$1/", DUKE, "a/Duke"),
        ("RULE:^CN=a\\/b$/ok/,DEFAULT", "CN=a/b", "ok"),
        (" , DEFAULT , ", DUKE, DUKE),
    ],
)
def test_first_fitting_rule_makes_the_name(rules, subject, expected):
    assert PrincipalMapping(rules).user_name(subject) == expected


@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "DEFAULT/L",
        "DEFAULT DEFAULT",
        "RULE:CN=(.*?)",
        "RULE:CN=(.*?)/$1",
        "RULE:CN=(.*?)/$1/LU",
        "RULE:CN=(.*?)/$1/X",
        "rule:CN=(.*?)/$1/L",
        "RULE:CN=(/$1/",
        "RULE:(?=CN)/$1/",
        "RULE:CN=(.*)/$x/",
        "RULE:CN=(.*)/${n}/",
        "x" * 100_000,
        "DEFAULT," * (RULES_MAX + 1),
    ],
)
def test_rules_that_cannot_be_read_are_refused(rules):
    with pytest.raises(InvalidConfig):
        PrincipalMapping(rules)


def test_subject_that_fits_no_rule_is_nobody():
    mapping = PrincipalMapping("RULE:^CN=(\\w+)$/$1/")
    for subject in (DUKE, "CN=a\n", ""):
        with pytest.raises(AuthenticationFailed):
            mapping.user_name(subject)


def test_empty_name_is_nobody():
    with pytest.raises(AuthenticationFailed):
        PrincipalMapping("RULE:^CN=.*$//").user_name("CN=x")


@given(st.text("RULE:DFAT/$1\\,L (.*)^", max_size=40), st.text(max_size=20))
def test_any_rules_are_read_or_refused_by_name(rules, subject):
    try:
        name = PrincipalMapping(rules).user_name(subject)
    except (InvalidConfig, AuthenticationFailed):
        return
    assert name
