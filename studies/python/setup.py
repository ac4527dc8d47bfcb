"""The wheel takes along the library that `make shared` built; without one the module finds an installed libtrotter.so."""
import os
import re
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py

BUILD = os.path.join("..", "..", "build")


class Build(build_py):
    def run(self):
        super().run()
        built = os.path.join(BUILD, "release", "libtrotter.so")
        if os.path.exists(built):
            shutil.copy(built, os.path.join(self.build_lib, "libtrotter.so"))


def version():
    """The program's, which stands in one place."""
    with open(os.path.join("..", "tools", "command.h")) as header:
        return re.search(r'define TROTTER_VERSION "([0-9.]+)', header.read()).group(1)


apart = os.path.join(BUILD, "python") if os.path.isdir(BUILD) else "."
os.makedirs(apart, exist_ok=True)
setup(version=version(), cmdclass={"build_py": Build}, options={"build": {"build_base": apart}, "egg_info": {"egg_base": apart}})
