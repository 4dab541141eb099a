"""Builds of the drivers that are not Python: Java by javac, Go by go, Node by npm ci."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from .cache import HERE, cached_build, maven_libraries, run_tool

if TYPE_CHECKING:
    from pathlib import Path


def _java_libraries() -> Path:
    return maven_libraries("kafka-clients", HERE / "java" / "kafka-clients-pom.xml")


def java_class_path() -> str:
    """The class path of the compiled Java programs with the Java client beside them."""
    libraries = _java_libraries()
    sources = sorted((HERE / "java").glob("*.java"))

    def compile_sources(target: Path) -> None:
        names = [str(source) for source in sources]
        options = ["-encoding", "UTF-8", "-Xlint:all", "-Werror"]
        options += ["-cp", f"{libraries}{os.sep}*"]
        run_tool(["javac", *options, "-d", str(target), *names], target, {})

    classes = cached_build("java-classes", sources, compile_sources)
    return os.pathsep.join([str(classes), f"{libraries}{os.sep}*"])


def franz_go_program() -> Path:
    sources = [HERE / "go" / name for name in ("go.mod", "go.sum", "main.go")]

    def build(target: Path) -> None:
        command = ["go", "build", "-mod=readonly", "-o", str(target / "driver"), "."]
        run_tool(command, HERE / "go", {})

    return cached_build("franz-go", sources, build) / "driver"


def kafkajs_directory() -> Path:
    sources = [HERE / "node" / name for name in ("package.json", "package-lock.json", "driver.js")]

    def install(target: Path) -> None:
        for source in sources:
            shutil.copy(source, target)
        run_tool(["npm", "ci", "--no-audit", "--no-fund", "--silent"], target, {})

    return cached_build("kafkajs", sources, install)
