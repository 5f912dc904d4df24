"""What the module promises: operations of the API, all of them exercised; Python 3.9; TLS."""

import ast
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
from typing import List, Tuple

from tests import fake
from tests.fake import Case

import crawlnode
from crawlnode import _http
from crawlnode._operations import OPERATIONS

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


class Operations(unittest.TestCase):
    def test_in_the_document(self) -> None:
        """Each operation, with its parameters, is one of the API."""
        document = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))
        for op in OPERATIONS:
            with self.subTest("%s %s" % op[:2]):
                of = document["paths"][op.path][op.method.lower()]
                known = {(p["in"], p["name"]) for p in of.get("parameters", [])}
                sent = {("query", n) for n in op.query} | {("header", n) for n in op.headers}
                sent |= {("path", n) for n in re.findall(r"\{(\w+)\}", op.path)}
                self.assertEqual(sent - known, set())
                needed = {(p["in"], p["name"]) for p in of.get("parameters", []) if p["required"]}
                self.assertEqual(needed - sent, set())

    def test_all_are_exercised(self) -> None:
        """The other tests have sent each of them, with each parameter."""
        if "test_client" not in " ".join(sys.modules):
            self.skipTest("only after all other tests: python3 -m unittest discover -s tests -t .")
        missing: List[Tuple[str, str, str]] = []
        for op in OPERATIONS:
            for name in ("", *op.query, *op.headers):
                if (op.method, op.path, name) not in fake.ASKED:
                    missing.append((op.method, op.path, name))
        self.assertEqual(missing, [])

    def test_nothing_else_is_asked_for(self) -> None:
        """No path stands in the code but those."""
        paths = {op.path for op in OPERATIONS}
        for file in sorted((HERE / "crawlnode").glob("_*.py")):
            for text in re.findall(r'"(/(?:api|status|cdx)[^"\s]*)"', file.read_text("utf-8")):
                self.assertIn(text, paths, file.name)


class Code(unittest.TestCase):
    def test_python_3_9(self) -> None:
        for file in sorted(HERE.glob("**/*.py")):
            ast.parse(file.read_text("utf-8"), str(file), feature_version=(3, 9))

    def test_standard_library_alone(self) -> None:
        optional = {"compression", "backports", "zstandard", "brotli", "brotlicffi"}
        for file in sorted((HERE / "crawlnode").glob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else [])
                for name in names:
                    top = name.partition(".")[0]
                    self.assertNotIn(top, optional)
                    if hasattr(sys, "stdlib_module_names"):
                        self.assertIn(top, sys.stdlib_module_names, file.name)

    def test_generated_files_are_current(self) -> None:
        r = subprocess.run([sys.executable, str(HERE / "generate.py"), "--check"],
                           stdout=subprocess.PIPE, text=True)
        self.assertEqual((r.stdout, r.returncode), ("", 0))

    def test_names(self) -> None:
        for name in crawlnode.__all__:
            self.assertTrue(getattr(crawlnode, name).__doc__ or name in ("Fetch", "Fetched"), name)
        for name in ("seeds", "status", "events", "search", "captures", "content", "settings", "set",
                     "work", "stop", "close"):
            self.assertTrue(getattr(crawlnode.Client, name).__doc__)

    def test_installs(self) -> None:
        """pip installs it without an index of packages, and what it installs works alone."""
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("pip is not installed")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                            "--disable-pip-version-check", "--target", folder, str(HERE)], check=True,
                           stderr=subprocess.DEVNULL)
            program = "import crawlnode; print(crawlnode.__file__, crawlnode.Client('a', ''))"
            out = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                                 cwd=folder, env={**os.environ, "PYTHONPATH": folder}, check=True).stdout
            self.assertEqual(out, "%s/crawlnode/__init__.py Client(http://a:27295)\n" % folder)
            self.assertTrue(os.path.exists(os.path.join(folder, "crawlnode", "py.typed")))

    def test_types(self) -> None:
        """mypy has nothing to say, where it is installed."""
        if shutil.which("mypy") is None:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as cache:
            r = subprocess.run(["mypy", "--cache-dir", cache], cwd=HERE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 0, r.stdout)


class TLS(Case):
    def certificate(self, folder: str, name: str, *options: str) -> Tuple[str, str]:
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        key, cert = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=x",
                        "-keyout", key, "-out", cert, *options], check=True, stderr=subprocess.DEVNULL)
        return key, cert

    def test_pin(self) -> None:
        """A token goes to the cluster that it names, and to nobody else."""
        with tempfile.TemporaryDirectory() as folder:
            served = {}
            for name in ("ours", "theirs"):
                key, cert = self.certificate(folder, name)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(cert, key)
                with open(cert) as f:
                    pin = _http.fingerprint(ssl.PEM_cert_to_DER_cert(f.read()))
                served[name] = (self.fake(lambda r: (200, {"crawl": {}}), context), pin)
        token = "cn1.read.0011223344556677.9999999999.%s.code" % served["ours"][1]
        ours, theirs = served["ours"][0], served["theirs"][0]
        self.client("http://" + ours.address, token=token).status()
        self.assertEqual(ours.requests[0].headers["authorization"], "Bearer " + token)
        with self.assertRaisesRegex(crawlnode.Untrusted, "another cluster"):
            self.client(theirs, token=token).status()
        with self.assertRaisesRegex(crawlnode.Untrusted, "keygen --role"):
            self.client("https://" + ours.address, token="opaque").status()
        self.assertEqual((len(ours.requests), len(theirs.requests)), (1, 0))
        self.client(theirs, ours, token=token).status()  # the other address is the cluster's

    def test_plain_server(self) -> None:
        f = self.fake(lambda r: (200, {}))
        token = "cn1.read.0011223344556677.9999999999.%s.code" % ("ab" * 16)
        with self.assertRaises(crawlnode.Unreachable):
            self.client(f, token=token, patience=0, timeout=2).status()
        self.assertEqual(f.requests, [])

    def test_key_elsewhere_in_a_certificate(self) -> None:
        """The key is that of the certificate's own field: one in an extension counts for nothing."""
        with tempfile.TemporaryDirectory() as folder:
            _, ours = self.certificate(folder, "ours")
            with open(ours) as f:
                der = ssl.PEM_cert_to_DER_cert(f.read())
            pin = _http.fingerprint(der)
            at = der.index(_http._ED25519)
            spki = der[at - 2:at + len(_http._ED25519) + 32].hex(":")
            _, forged = self.certificate(folder, "forged", "-addext", "1.2.3.4=DER:" + spki)
            with open(forged) as f:
                der = ssl.PEM_cert_to_DER_cert(f.read())
        self.assertIn(_http._ED25519, der)
        self.assertNotEqual(_http.fingerprint(der), pin)
        for damaged in (b"", der[:20], der[:60], b"\x30\x84\xff\xff\xff\xff", b"\x30\x80", bytes(64)):
            with self.assertRaises(ValueError):
                _http.fingerprint(damaged)


if __name__ == "__main__":
    unittest.main()
