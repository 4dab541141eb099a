"""What decoding can find wrong; every decoder raises these and nothing else."""


class MalformedMessage(ValueError):
    """The peer sent bytes that are not the message they claim to be."""


class UnsupportedMessage(ValueError):
    """There is no codec for this API key or for this version of it."""
