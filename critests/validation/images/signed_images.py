"""Signatures of images in a registry, as cosign stores them: next to the image, with a tag made of its
digest.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

from critests.images.oci_image import CONFIG, Blob, Dialect, canonical_json, manifest
from critests.testing import MintedImage, Registry
from critests.validation.openssl import openssl

PAYLOAD = "application/vnd.dev.cosign.simplesigning.v1+json"
"""Media type of what is signed."""
SIGNATURE = "dev.cosignproject.cosign/signature"
"""Annotation of the payload's descriptor: the signature in base64."""


@dataclass(frozen=True)
class SigningKey:
    """A key pair.

    Attributes:
        private: file of the private key.
        public: file of the public key, PEM.
    """

    private: Path
    public: Path

    @classmethod
    def new(cls, folder: Path, name: str) -> "SigningKey":
        """Make a key pair in a folder."""
        key = cls(folder / f"{name}.key", folder / f"{name}.pub")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key.private))
        openssl("ec", "-in", str(key.private), "-pubout", "-out", str(key.public))
        return key

    def sign(self, registry: Registry, image: MintedImage, *, name: str = "", digest: str = "") -> None:
        """Add a signature to an image in the registry.

        Args:
            registry: has the image.
            image: its repository gets the signature.
            name: that the signature is valid for; the image's by default.
            digest: that the signature is valid for; the image's by default.
        """
        payload = canonical_json(
            {
                "critical": {
                    "identity": {"docker-reference": name or image.name},
                    "image": {"docker-manifest-digest": digest or image.digest},
                    "type": "cosign container image signature",
                },
                "optional": {},
            }
        )
        signature = base64.b64encode(openssl("dgst", "-sha256", "-sign", str(self.private), given=payload))
        signed = Blob(PAYLOAD, payload)
        config = Blob(
            CONFIG[Dialect.OCI], canonical_json({"rootfs": {"type": "layers", "diff_ids": [signed.digest]}})
        )
        top = manifest(config, [signed], annotations=[{SIGNATURE: signature.decode()}])
        registry.client.put(image.repository, f"{image.digest.replace(':', '-')}.sig", top, [config, signed])
