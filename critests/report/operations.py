"""What to call an operation."""


def label(operation: str, dimensions: dict[str, str]) -> str:
    """Return what to call an operation: `ListContainers containers=100`; the dimensions in the order of their
    names.
    """
    return " ".join([operation, *(f"{name}={value}" for name, value in sorted(dimensions.items()))])
