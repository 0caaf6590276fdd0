"""Every command is typed in a folder of its own, with a store there."""

from elsewhere import _elsewhere

__all__ = ["_elsewhere"]
