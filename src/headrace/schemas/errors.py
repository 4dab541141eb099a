"""What a registry refuses, and why. The HTTP front end gives each class Confluent's code."""

from __future__ import annotations

from headrace.model.errors import HeadraceError


class RegistryError(HeadraceError):
    """Root of what the registry refuses."""


class SubjectNotFound(RegistryError):
    def __init__(self, subject: str) -> None:
        super().__init__(f"Subject '{subject}' not found.")


class VersionNotFound(RegistryError):
    def __init__(self, version: int | str) -> None:
        super().__init__(f"Version {version} not found.")


class SchemaNotFound(RegistryError):
    def __init__(self, schema_id: int | None = None) -> None:
        super().__init__(
            "Schema not found" if schema_id is None else f"Schema {schema_id} not found"
        )


class SubjectSoftDeleted(RegistryError):
    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
        )


class SubjectNotSoftDeleted(RegistryError):
    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' was not deleted first before being permanently deleted"
        )


class VersionSoftDeleted(RegistryError):
    def __init__(self, subject: str, version: int) -> None:
        super().__init__(
            f"Subject '{subject}' Version {version} was soft deleted. "
            f"Set permanent=true to delete permanently"
        )


class VersionNotSoftDeleted(RegistryError):
    def __init__(self, subject: str, version: int) -> None:
        super().__init__(
            f"Subject '{subject}' Version {version} was not deleted first before being "
            f"permanently deleted"
        )


class SubjectCompatibilityNotConfigured(RegistryError):
    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' does not have subject-level compatibility configured"
        )


class SubjectModeNotConfigured(RegistryError):
    def __init__(self, subject: str) -> None:
        super().__init__(f"Subject '{subject}' does not have subject-level mode configured")


class InvalidSchema(RegistryError):
    """The schema is broken, of an unknown kind, or refers to something unknown."""


class InvalidVersion(RegistryError):
    def __init__(self, version: str) -> None:
        super().__init__(
            f"The specified version '{version}' is not a valid version id. Allowed values are "
            f'between [1, 2^31-1] and the string "latest"'
        )


class InvalidCompatibility(RegistryError):
    """Not one of the seven levels of compatibility."""


class InvalidMode(RegistryError):
    """Not one of the modes."""


class OperationNotPermitted(RegistryError):
    """The mode of the subject forbids it."""


class ReferenceExists(RegistryError):
    """Another schema refers to the one that was to be deleted."""


class SchemaTooLarge(RegistryError):
    """The schema is longer than the registry takes."""


class InvalidSubject(RegistryError):
    """The subject's name is empty, too long, or has control characters."""


class IncompatibleSchema(RegistryError):
    """The schema does not fit to earlier versions."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(
            "Schema being registered is incompatible with an earlier schema; details: "
            + str(problems)
        )
        self.problems = problems


class KindNotInstalled(RegistryError):
    """The libraries of this kind of schema are an extra, and they are not there."""

    def __init__(self, kind: str, reason: object) -> None:
        super().__init__(
            f"{kind} schemas need libraries that are not installed where the registry runs; "
            f"install them with: pip install 'headrace[registry]' ({reason})"
        )


class RegistryLoading(RegistryError):
    """The topic of the schemas is not read yet: ask again."""
