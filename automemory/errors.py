"""What can go wrong, as one tree.

    AutoMemoryError
    ├── VaultError            the vault or a file in it
    │   ├── PathEscape        a path that would leave the vault
    │   ├── Conflict          the vault changed under a plan
    │   │   └── NameTaken     somebody else took the name of a new event
    │   ├── Busy              the vault's lock was not to be had in time
    │   ├── Unwritable        full, read-only or damaged storage
    │   └── ToolRefused       a tool of the synchronizer may not do what it was called for
    ├── DecisionError         a decider gave no usable answer
    ├── ImportFailed          a saved conversation could not be read
    └── ConfigError           an argument or a setting is wrong

Every message names the value and says what to do.
"""


class AutoMemoryError(Exception):
    """Base of every error this package raises on purpose."""


class VaultError(AutoMemoryError):
    """The vault, or a file in it, is not as it has to be."""


class PathEscape(VaultError):
    """A path leads out of the vault."""


class Conflict(VaultError):
    """The vault changed since the plan was made."""


class NameTaken(Conflict):
    """The folder that a plan was to make is there already."""


class Busy(VaultError):
    """Another writer held the vault's lock for too long."""


class Unwritable(VaultError):
    """The vault cannot be written: full, read-only or failing storage."""


class ToolRefused(VaultError):
    """A tool call was refused; the message says what to do instead."""


class DecisionError(AutoMemoryError):
    """A decider failed, ran out of time or answered with something unusable."""


class ImportFailed(AutoMemoryError):
    """A saved conversation could not be read."""


class ConfigError(AutoMemoryError, ValueError):
    """An argument or a setting is wrong."""
