"""How to configure a runtime to pull from the suite's registry, which serves plain HTTP on loopback."""

REGISTRIES_CONF = "/etc/containers/registries.conf.d/50-critests.conf"


def how_to_allow(address: str) -> str:
    """Return a sentence with the configuration for runtimes that require HTTPS by default.

    Args:
        address: `host:port` of the registry.
    """
    host, _, port = address.rpartition(":")
    lines = "; ".join(f'[[registry]] location = "{host}:{number}" insecure = true' for number in (int(port),))
    return (
        f"Runtimes that read {REGISTRIES_CONF.rsplit('/', 2)[0]} (CRI-O) need in {REGISTRIES_CONF}: {lines},"
        " and a reload; containerd takes loopback registries over plain HTTP unless its hosts.toml says"
        " otherwise. Or mirror the images (`critests images build`) and give --image-prefix"
    )
