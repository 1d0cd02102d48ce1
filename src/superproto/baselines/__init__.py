"""FIT: the other methods, one file each, behind one signature; ``METHODS`` maps a name to its class."""

from superproto.baselines.registry import METHODS

__all__ = ["METHODS"]
