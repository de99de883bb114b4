"""What CMake says of libraries that are missing or of a wrong version: one sentence, with what to install.
usage: test_configure.py CMAKE SOURCE [-v]; PDHOST_CC names the compiler"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, SOURCE = sys.argv[1:3]
# All but the folder at hand is left out, so that a configuration takes a second.
FOLDERS = re.search(r"foreach\(folder IN ITEMS\n(.*?)\)", (pathlib.Path(SOURCE) / "CMakeLists.txt").read_text(), re.S)[1].split()


def configure(folder, *options, environment=None):
    """CMake's exit status and output with unbroken lines, for one folder of the project."""
    with tempfile.TemporaryDirectory() as build:
        skipped = ";".join(name for name in FOLDERS if name != folder)
        command = [CMAKE, "-S", SOURCE, "-B", build, "-G", "Ninja", "-DBUILD_TESTING=OFF", f"-DPDHOST_SKIP={skipped}",
                   f"-DCMAKE_C_COMPILER={os.environ['PDHOST_CC']}", *options]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
        return done.returncode, " ".join((done.stdout + done.stderr).split())


def fake_onednn(folder, version, threading="OMP"):
    """Headers that say so much, and a library without a function."""
    headers = pathlib.Path(folder) / "include/oneapi/dnnl"
    headers.mkdir(parents=True)
    parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
    (headers / "dnnl_version.h").write_text("".join(f"#define DNNL_VERSION_{name} {number}\n" for name, number in parts))
    (headers / "dnnl_config.h").write_text(f"#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_{threading}\n")
    library = pathlib.Path(folder) / "lib/libdnnl.so"
    library.parent.mkdir()
    subprocess.run([os.environ["PDHOST_CC"], "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
    return folder


class OneDnn(unittest.TestCase):
    def refused(self, version, why, threading="OMP"):
        with tempfile.TemporaryDirectory() as folder:
            fake_onednn(folder, version, threading)
            code, said = configure("core/devices/cpu", f"-DDNNL_ROOT={folder}")
        self.assertNotEqual(code, 0, said)
        self.assertIn("cannot be used for the CPU device: " + why, said)
        self.assertIn("oneDNN 2.6 to 3.x for OpenMP", said)
        self.assertIn("install libdnnl-dev", said)
        self.assertIn("-DPDHOST_CPU=OFF", said)

    def test_too_old(self):
        self.refused("2.5.4", "it is version 2.5.4;")

    def test_too_new(self):
        self.refused("4.0.0", "it is version 4.0.0;")

    def test_of_another_threading_library(self):
        self.refused("3.1.0", "it is not built for OpenMP;", "TBB")

    def test_headers_and_library_of_two_versions(self):
        self.refused("3.1.0", "its headers are of version 3.1.0 and ")

    def test_without_it_the_device_alone_is_left_out(self):
        code, said = configure("core/devices/cpu", "-DCMAKE_DISABLE_FIND_PACKAGE_DNNL=ON")
        self.assertEqual(code, 0, said)
        self.assertIn("CPU device: not built (it needs oneDNN 2.6 to 3.x", said)

    def test_the_device_can_be_insisted_on(self):
        code, said = configure("core/devices/cpu", "-DCMAKE_DISABLE_FIND_PACKAGE_DNNL=ON", "-DPDHOST_CPU=ON")
        self.assertNotEqual(code, 0, said)
        self.assertIn("The CPU device cannot be built: it needs oneDNN 2.6 to 3.x", said)

    def test_the_device_can_be_left_out(self):
        code, said = configure("core/devices/cpu", "-DPDHOST_CPU=OFF")
        self.assertEqual(code, 0, said)
        self.assertIn("CPU device: not built (PDHOST_CPU=OFF)", said)


class Compilers(unittest.TestCase):
    def test_one_that_was_missing_is_looked_for_again(self):
        """The cache keeps what was not found."""
        if not shutil.which("c++"):
            self.skipTest("no C++ compiler here")
        code, said = configure("core/devices/cpu", "-DCMAKE_CXX_COMPILER=NOTFOUND")
        self.assertEqual(code, 0, said)
        self.assertIn("Looking for a CXX compiler - /", said)


class OtherLibraries(unittest.TestCase):
    def test_without_sqlite_a_reader_alone_is_left_out(self):
        with tempfile.TemporaryDirectory() as empty:
            code, said = configure("readers/nsys", environment={"PKG_CONFIG_LIBDIR": empty})
            self.assertEqual(code, 0, said)
            self.assertIn("Reader nsys: not built (it needs SQLite 3.26 or newer: install libsqlite3-dev)", said)

    def missing(self, folder, what, package, *options, **environment):
        code, said = configure(folder, *options, environment=environment)
        self.assertNotEqual(code, 0, said)
        self.assertIn(f"pdhost needs {what}, which was not found: install {package} (", said)

    def test_a_library_is_named_with_its_package(self):
        with tempfile.TemporaryDirectory() as empty:
            for folder, library, package in (("core/config", "inih", "libinih-dev"), ("core/base", "jansson", "libjansson-dev"),
                                             ("sinks/chrome_trace", "libisal", "libisal-dev")):
                with self.subTest(library):
                    self.missing(folder, "the library " + library, package, PKG_CONFIG_LIBDIR=empty)

    def test_a_program_is_too(self):
        self.missing("sinks/tensorboard", "the program protoc-c", "protobuf-c-compiler", "-DPROTOC_C=PROTOC_C-NOTFOUND",
                     "-DCMAKE_PROGRAM_PATH=/nowhere", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF",
                     "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", f"-DPKG_CONFIG_EXECUTABLE={shutil.which('pkg-config')}",
                     f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}")

    def test_pkg_config_is_too(self):
        self.missing("core/base", "pkg-config", "pkg-config", "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
