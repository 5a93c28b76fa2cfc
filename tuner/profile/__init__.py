"""Profile files: find, read, validate whole."""

from tuner.profile.find import find_profile, shipped_profiles
from tuner.profile.read import parse_profile, read_profile

__all__ = ["find_profile", "parse_profile", "read_profile", "shipped_profiles"]
