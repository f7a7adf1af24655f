"""Certificates for the hosts of a world: one key for all, signed by an authority that can sign nothing more."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from agentworld_sim.extras import require

_DAYS = 30


class HostCertificates:
    """An authority that is trusted where `authority` is named, and a certificate for all hosts.

    The authority's key is dropped as soon as it has signed, and was never written; its certificate permits these
    hosts alone.
    """

    def __init__(self, hosts: Sequence[str], folder: Path) -> None:
        """
        Args:
            hosts: Names, without ports; what is no name of a host is left out.
            folder: Private (mode 700), and the caller's to remove.
        """
        require("cryptography", extra="browser")
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
        )

        names = [host for host in hosts if host.isascii() and " " not in host]
        self.authority = folder / "authority.pem"
        """The file that a client is told to trust."""
        chain = folder / "host.pem"
        authority, host, key = _authority_and_host(names)
        self.authority.write_bytes(authority.public_bytes(Encoding.PEM))
        written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain.touch(mode=0o600)
        chain.write_bytes(written + host.public_bytes(Encoding.PEM))
        told = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.key_hash = b64encode(sha256(told).digest()).decode()
        """Of the hosts' key, as Chromium takes it."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """For a server that speaks HTTP/1.1."""
        self.context.set_alpn_protocols(["http/1.1"])
        self.context.load_cert_chain(chain)
        chain.unlink()


def _authority_and_host(names: Sequence[str]) -> tuple[Any, Any, Any]:
    """The authority's certificate, that of the hosts, and the hosts' key."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    authority_key, host_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agentworld web")])
    # Real clients look at the real clock.
    now = datetime.now(UTC)

    def builder(subject: x509.Name, key: Any, *, signs: bool) -> x509.CertificateBuilder:
        usage = dict.fromkeys(
            "content_commitment key_encipherment data_encipherment key_agreement encipher_only decipher_only".split(),
            False,
        )
        return (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=_DAYS))
            .add_extension(x509.BasicConstraints(signs, 0 if signs else None), critical=True)
            .add_extension(x509.KeyUsage(not signs, key_cert_sign=signs, crl_sign=signs, **usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )  # fmt: skip

    every_address = [x509.IPAddress(ip_network(one)) for one in ("0.0.0.0/0", "::/0")]
    limits = x509.NameConstraints([x509.DNSName(name) for name in names] or None, every_address)
    authority = builder(issuer, authority_key, signs=True).add_extension(limits, critical=True)
    host = (
        builder(x509.Name([]), host_key, signs=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
    )  # fmt: skip
    return authority.sign(authority_key, SHA256()), host.sign(authority_key, SHA256()), host_key
