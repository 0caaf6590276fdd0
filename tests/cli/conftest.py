"""Every command is typed in a folder of its own, with a store there."""

from own_folder import _own_folder

__all__ = ["_own_folder"]
