"""The list of mutations fits the sources, and the tool that runs them tells a verdict from chance.

Running them takes minutes: `make mutate`.
"""

from __future__ import annotations

import pytest

from tools.mutate import (
    BEGIN,
    END,
    ROOT,
    Failure,
    Mutation,
    Outcome,
    failures_in,
    load_mutations,
    stale_reason,
    with_table,
)

MUTATIONS = load_mutations()
MUTATION = Mutation(
    "name", "what it breaks", "src/code.py", "a < b", "a > b", ("tests/test_it.py",)
)

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_it" name="test_fine"/>
<testcase classname="tests.unit.test_it" name="test_wrong[3]">
  <failure message="AssertionError: assert 1 == 2">...</failure></testcase>
<testcase classname="tests.unit.test_it" name="test_missing">
  <failure message="Failed: DID NOT RAISE &lt;class 'ValueError'&gt;">...</failure></testcase>
<testcase classname="tests.unit.test_it" name="test_crash">
  <failure message="KeyError: 'x'">...</failure></testcase>
<testcase classname="tests.unit.test_it" name="test_setup">
  <error message="failed on setup">...</error></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "code.py").write_text("if a < b:\n    pass\n")
    (tmp_path / "tests" / "test_it.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_no_mutation_is_stale(mutation):
    assert stale_reason(mutation) is None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_mutation_leaves_code_that_compiles(mutation):
    text = (ROOT / mutation.file).read_text().replace(mutation.before, mutation.after)
    compile(text, mutation.file, "exec")


def test_mutation_that_fits_is_not_stale(tree):
    assert stale_reason(MUTATION, tree) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"before": "a <= b"}, "0 times"),
        ({"file": "src/gone.py"}, "no src/gone.py"),
        ({"tests": ("tests/test_gone.py::test_x",)}, "no tests/test_gone.py"),
        ({"after": "a < b"}, "changes nothing"),
    ],
)
def test_mutation_that_does_not_fit_is_named(tree, change, reason):
    assert reason in (stale_reason(MUTATION._replace(**change), tree) or "")


def test_text_that_stands_twice_is_stale(tree):
    (tree / "src" / "code.py").write_text("a < b\na < b\n")
    assert "2 times" in (stale_reason(MUTATION, tree) or "")


def test_only_a_test_s_own_verdict_counts():
    verdicts = {failure.test: failure.is_assertion for failure in failures_in(REPORT)}
    assert verdicts == {
        "tests/unit/test_it.py::test_wrong[3]": True,
        "tests/unit/test_it.py::test_missing": True,
        "tests/unit/test_it.py::test_crash": False,
    }
    assert not Failure("t", "ImportError: no module").is_assertion


def test_table_replaces_what_is_between_the_markers():
    document = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    renewed = with_table(document, [Outcome(MUTATION, "tests/test_it.py::test_x", "", 1.0)])
    assert renewed.startswith(f"before\n{BEGIN}\n1 of 1 mutations caught.\n")
    assert "| name | what it breaks | `src/code.py` | `tests/test_it.py::test_x` |" in renewed
    assert renewed.endswith(f"{END}\nafter\n")
    assert "old" not in renewed


def test_document_without_markers_is_refused():
    with pytest.raises(ValueError, match="no <!--"):
        with_table("nothing", [])


def test_two_mutations_of_one_name_are_refused(tmp_path):
    entry = (
        '[[mutation]]\nname = "a"\nguarantee = ""\nfile = ""\nbefore = ""\nafter = ""\ntests = []\n'
    )
    (tmp_path / "list.toml").write_text(entry * 2)
    with pytest.raises(ValueError, match="same name: a"):
        load_mutations(tmp_path)
