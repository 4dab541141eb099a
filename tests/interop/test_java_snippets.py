"""The two ways a Java producer is taught to send, run as users write them."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from .builds import java_class_path
from .conftest import ADMIN_CLIENT
from .scenarios.declare import read, values
from .values import ConsumerSettings

if TYPE_CHECKING:
    from .conftest import ClientPool

pytestmark = [pytest.mark.interop, pytest.mark.maven]

SUCCESS = " 消息发送成功。"
RUN_TIMEOUT_S = 60.0


def test_java_sends_synchronously_and_with_callback(
    bootstrap_servers: str, clients: ClientPool
) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("mvn, javac, java not on this machine")
    client = clients.get(ADMIN_CLIENT)
    topic = clients.unique_name("java-snippets")
    client.create_topic(topic)
    command = ["java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    command += ["-cp", java_class_path(), "Snippets", bootstrap_servers, topic]
    result = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=RUN_TIMEOUT_S, check=True
    )
    assert result.stdout.splitlines() == [SUCCESS, SUCCESS]
    consumer = client.open_consumer(ConsumerSettings(assign=((topic, 0),)))
    assert values(read(consumer, 2)) == [b"synchronous", b"callback"]
    consumer.close()
