"""Builds the package (PEP 517 and PEP 660) with the standard library alone: the usual backends are
packages, and a machine without an index of packages has no way to them. The package is a folder of
Python files, so that a wheel is a zip of them. The same sources give the same bytes.
"""

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "generate.py", "_build/pure.py")


def read(path):
    with open(os.path.join(HERE, path), "rb") as f:
        return f.read()


def field(name):
    """A text of pyproject.toml."""
    m = re.search(r'(?m)^%s = "([^"]*)"$' % re.escape(name), read("pyproject.toml").decode())
    if m is None:
        raise ValueError("pyproject.toml has no %s" % name)
    return m.group(1)


def stem():
    return "%s-%s" % (field("name"), field("version"))


def metadata():
    lines = ["Metadata-Version: 2.1", "Name: " + field("name"), "Version: " + field("version"),
             "Summary: " + field("description"), "Requires-Python: " + field("requires-python"),
             "License: Apache-2.0", "Description-Content-Type: text/markdown",
             "Provides-Extra: codings", 'Requires-Dist: brotli; extra == "codings"',
             'Requires-Dist: zstandard; extra == "codings"', "", ""]
    return "\n".join(lines).encode() + read("README.md")


def package():
    """The files of the package, by their paths."""
    names = sorted(os.listdir(os.path.join(HERE, "crawlnode")))
    paths = ["crawlnode/" + n for n in names if n.endswith(".py") or n == "py.typed"]
    return {path: read(path) for path in paths}


def write_wheel(folder, files):
    info = stem() + ".dist-info/"
    files = dict(files)
    files[info + "LICENSE"] = read("LICENSE")
    files[info + "METADATA"] = metadata()
    files[info + "WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: crawlnode\n"
                             b"Root-Is-Purelib: true\nTag: py3-none-any\n")
    record = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record.append("%s,sha256=%s,%d\n" % (path, digest, len(data)))
    files[info + "RECORD"] = "".join([*record, info + "RECORD,,\n"]).encode()
    name = stem() + "-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.external_attr = 0o644 << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, package())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {"crawlnode-editable.pth": (HERE + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    files = {**{path: read(path) for path in SOURCES}, **package(), "PKG-INFO": metadata()}
    name = stem() + ".tar.gz"
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz") as t:
        for path, data in files.items():
            entry = tarfile.TarInfo(stem() + "/" + path)
            entry.size, entry.mode = len(data), 0o644
            t.addfile(entry, io.BytesIO(data))
    return name
