from __future__ import annotations

from headrace.pipeline.session import DEFAULT_MASTER, session_settings


def test_the_defaults_of_a_session():
    settings = session_settings(None, {}, is_submitted=False)
    assert settings["spark.master"] == DEFAULT_MASTER
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"


def test_a_task_is_tried_again_by_default():
    assert DEFAULT_MASTER == "local[*,4]"


def test_what_the_caller_says_wins():
    given = {"spark.ui.enabled": "true", "spark.driver.host": "me"}
    settings = session_settings("local[1]", given, is_submitted=False)
    assert settings["spark.master"] == "local[1]"
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.driver.host"] == "me"


def test_the_argument_comes_before_the_setting():
    settings = session_settings("local[1]", {"spark.master": "local[3]"}, is_submitted=False)
    assert settings["spark.master"] == "local[1]"
    assert session_settings(None, {"spark.master": "local[3]"}, False)["spark.master"] == "local[3]"


def test_a_cluster_must_be_able_to_find_the_driver():
    settings = session_settings("spark://host:7077", {}, is_submitted=False)
    assert "spark.driver.host" not in settings


def test_under_spark_submit_the_master_is_its_own():
    assert "spark.master" not in session_settings(None, {}, is_submitted=True)
