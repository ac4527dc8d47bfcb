"""Builds the wheel for pip (PEP 517) with Python alone: the module, and beside it the library that `make shared` builds."""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
LIBRARY = os.path.join(ROOT, "build", "release", "libtrotter.so")

METADATA = """Metadata-Version: 2.1
Name: trotter
Version: %s
Summary: Integrators as texts: order, stability, convergence, pictures; trained models
License: GPL-3.0-or-later
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: trotter
Root-Is-Purelib: false
Tag: %s
"""


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def library():
    """The library's bytes, without what debuggers read."""
    subprocess.run(["make", "-C", ROOT, "shared"], check=True)
    try:
        subprocess.run(["strip", "--strip-debug", "-o", LIBRARY + ".stripped", LIBRARY], check=True)
    except (OSError, subprocess.CalledProcessError):
        return read(LIBRARY)
    try:
        return read(LIBRARY + ".stripped")
    finally:
        os.remove(LIBRARY + ".stripped")


def described():
    """The name of the wheel without its end, that of its folder of metadata, and the files there. The version is the
    program's, which stands in one place."""
    version = re.search(r'define TROTTER_VERSION "([0-9.]+)', read(ROOT, "studies", "base", "command.h").decode()).group(1)
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    files = {"METADATA": (METADATA % version).encode(), "WHEEL": (WHEEL % tag).encode(), "LICENSE": read(ROOT, "LICENSE")}
    return "trotter-%s-%s" % (version, tag), "trotter-%s.dist-info" % version, files


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    _, info, files = described()
    os.makedirs(os.path.join(metadata_directory, info))
    for name, content in files.items():
        with open(os.path.join(metadata_directory, info, name), "wb") as f:
            f.write(content)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name."""
    name, info, described_by = described()
    files = {"trotter/" + module: read(HERE, "trotter", module)
             for module in sorted(os.listdir(os.path.join(HERE, "trotter"))) if module.endswith(".py")}
    files["trotter/libtrotter.so"] = library()
    files.update({"%s/%s" % (info, file): content for file, content in described_by.items()})
    with zipfile.ZipFile(os.path.join(wheel_directory, name + ".whl"), "w", zipfile.ZIP_DEFLATED) as wheel:
        record = ""
        for path, content in files.items():
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += "%s,sha256=%s,%d\n" % (path, digest, len(content))
        wheel.writestr(info + "/RECORD", record + info + "/RECORD,,\n")
    return name + ".whl"
