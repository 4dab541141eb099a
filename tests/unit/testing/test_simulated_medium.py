"""Files and directories before and after a power cut."""

from __future__ import annotations

from random import Random

from headrace.testing.simulated_medium import (
    PAGE_BYTES,
    SECTOR_BYTES,
    DirectoryNode,
    FileNode,
    Journal,
    all_nodes,
    nodes_below,
)


def outcomes(unit_bytes: int, count: int = 60) -> set[bytes]:
    """What power cuts leave of two synced pages of 'a' overwritten by 'b'."""
    left: set[bytes] = set()
    for seed in range(count):
        node = FileNode(0)
        node.write(0, b"a" * 2 * PAGE_BYTES)
        node.sync()
        node.write(0, b"b" * 2 * PAGE_BYTES)
        node.lose_power(Random(seed), unit_bytes)
        left.add(bytes(node.cached))
    return left


def test_synced_bytes_survive() -> None:
    node = FileNode(0)
    node.write(10, b"kept")
    node.sync()
    node.lose_power(Random(1), SECTOR_BYTES)
    assert node.cached == bytes(10) + b"kept"


def test_pages_are_kept_or_lost_as_wholes() -> None:
    pages = {left[i : i + PAGE_BYTES] for left in outcomes(PAGE_BYTES) for i in (0, PAGE_BYTES)}
    assert pages == {b"a" * PAGE_BYTES, b"b" * PAGE_BYTES}
    assert len(outcomes(PAGE_BYTES)) == 4


def test_pages_tear_at_sectors() -> None:
    torn = outcomes(SECTOR_BYTES)
    assert len(torn) > 10
    sectors = {
        left[i : i + SECTOR_BYTES] for left in torn for i in range(0, len(left), SECTOR_BYTES)
    }
    assert sectors == {b"a" * SECTOR_BYTES, b"b" * SECTOR_BYTES}


def test_unsynced_growth_is_lost_kept_or_cut_anywhere() -> None:
    sizes = set()
    for seed in range(60):
        node = FileNode(0)
        node.write(0, b"x" * 1000)
        node.lose_power(Random(seed), SECTOR_BYTES)
        sizes.add(len(node.cached))
        assert set(node.cached) <= {0, ord("x")}
    assert {0, 1000} < sizes


def test_a_truncated_part_never_comes_back_after_a_sync() -> None:
    node = FileNode(0)
    node.write(0, b"secret" * 500)
    node.sync()
    node.resize(10)
    node.resize(2000)
    node.sync()
    assert node.durable == node.cached == b"secretsecr" + bytes(1990)


def test_entries_are_durable_after_a_sync_of_their_directory() -> None:
    journal, root = Journal(), DirectoryNode()
    first, second = FileNode(0), FileNode(0)
    journal.apply((root, "a", first))
    journal.sync(root)
    journal.apply((root, "a", None), (root, "b", first))
    journal.apply((root, "c", second))
    assert set(root.cached) == {"b", "c"}
    assert set(root.durable) == {"a"}
    assert all_nodes(root) == [root, first, second]
    assert nodes_below(root, durable=True) == [root, first]


def test_a_power_cut_keeps_a_prefix_or_any_of_the_entries() -> None:
    def left(seed: int, in_order: bool) -> str:
        journal, root = Journal(in_order=in_order), DirectoryNode()
        for name in "abc":
            journal.apply((root, name, FileNode(0)))
        journal.lose_power(Random(seed))
        return "".join(sorted(root.durable))

    assert {left(seed, True) for seed in range(40)} == {"", "a", "ab", "abc"}
    assert {"", "c", "ac", "abc"} < {left(seed, False) for seed in range(80)}


def test_a_sync_without_order_leaves_other_directories_and_keeps_one_name_straight() -> None:
    journal, one, two = Journal(in_order=False), DirectoryNode(), DirectoryNode()
    old, new = FileNode(0), FileNode(0)
    journal.apply((two, "other", old))
    journal.apply((two, "name", old))
    journal.apply((one, "new", new))
    journal.apply((one, "new", None), (two, "name", new))
    journal.sync(one)
    assert one.durable == {}
    assert two.durable == {"name": new}
    journal.sync(two)
    assert two.durable == {"name": new, "other": old}
