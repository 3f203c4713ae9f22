"""Secrets of the usual kinds, and where one would be found if it had leaked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# How it is said, and the part of it that nobody may read.
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
SECRETS = {
    "sk with dots": ("sk-proj-abc.DEF123ghi456.JKL789mno012pqr345",) * 2,
    "GitHub": ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",) * 2,
    "AWS": ("AKIAIOSFODNN7EXAMPLE",) * 2,
    "JWT": (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
    )
    * 2,
    "PEM": (
        "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA75hexK1mNoPqRsTuVwXyZ\n-----END PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA75hexK1mNoPqRsTuVwXyZ",
    ),
    "URL": ("postgres://admin:Sup3rS3cretPw@db.example.com/x", "Sup3rS3cretPw"),
    "hex": ("api_key: 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    "password": ("password=hunter2Hunter2!", "hunter2Hunter2!"),
    "header": ("Authorization: Bearer abcdef0123456789ABCDEF.xyz-987", "abcdef0123456789ABCDEF.xyz-987"),
}


def turns(text: str) -> Iterator[list[dict[str, Any]]]:
    call = {"id": "c", "name": "bash", "args": {"cmd": f"export X='{text}'"}}
    yield [
        {"role": "user", "content": f"Use {text} now"},
        {"role": "assistant", "content": f"I used `{text}`."},
    ]
    yield [
        {"role": "user", "content": "run"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"out {text}\n"},
    ]
    yield [{"role": "user", "content": "x " * 15_000 + text + " y" * 15_000}]
    yield [
        {
            "role": "user",
            "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": text}],
        }
    ]
    yield [{"role": "user", "content": "by name", "name": text}, {"role": text[:60], "content": "odd"}]


def everywhere(vault: Path) -> dict[str, str]:
    """All names and all bytes in the vault, `state.db` and its log included."""
    found = {}
    for path in vault.rglob("*"):
        found[f"name of {path.name}"] = path.relative_to(vault).as_posix()
        if path.is_file():
            found[f"file {path.name}"] = path.read_bytes().decode("latin-1")
    return found


def leaks(secret: str, places: Mapping[str, str]) -> list[tuple[str, str]]:
    """The places in which the secret, or a part of it between two dots, can be read, with that part."""
    parts = {secret, *(part for part in secret.split(".") if len(part) >= 12)}
    return [(place, part) for place, data in places.items() for part in parts if part.lower() in data.lower()]
