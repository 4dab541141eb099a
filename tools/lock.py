"""Print the exact versions of everything installed here, for constraints.txt.

Only what `pip install -e '.[dev]'` pulls in is listed: the closure of the project's own
requirements.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def closure(root: str, extras: set[str]) -> dict[str, str]:
    """Name and version of every distribution that ``root[extras]`` needs."""
    found: dict[str, str] = {}
    queue = [(root, extras)]
    while queue:
        name, wanted = queue.pop()
        try:
            dist = distribution(name)
        except PackageNotFoundError:
            continue  # a requirement for another platform
        for text in dist.requires or []:
            requirement = Requirement(text)
            environments = [{"extra": extra} for extra in (wanted or {""})]
            marker = requirement.marker
            if marker is not None and not any(marker.evaluate(e) for e in environments):
                continue
            key = requirement.name.lower().replace("_", "-")
            if key not in found and key != root:
                try:
                    found[key] = distribution(key).version
                except PackageNotFoundError:
                    continue
                queue.append((key, set(requirement.extras)))
            elif key == root:
                queue.append((key, set(requirement.extras)))
    return found


def main() -> None:
    print("# The versions that are tested. Written by `make lock`.")
    for name, version in sorted(closure("headrace", {"dev"}).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
