"""Packages by the names under which they are installed, for setuptools.

The folders lie at the top of the repository, and are installed as `thinkeval.service` and so on;
`service/public` is installed as `thinkeval`. pyproject.toml has everything else.
"""

from setuptools import find_packages, setup

ROOMS = ["service", "cypher", "editing", "loaders"]
found = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])

setup(packages=["thinkeval"] + [f"thinkeval.{name}" for name in found if name != "service.public"])
