"""Prints the properties of an interpreter for the build, separated by semicolons: its version, 1 if it has the headers
for extension modules, and NumPy's version or nothing. The script runs in any Python."""
import os
import sys
import sysconfig

headers = os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
try:
    import numpy
    numpy = numpy.__version__
except Exception:  # missing or broken
    numpy = ""
sys.stdout.write("%d.%d.%d;%d;%s" % (sys.version_info[:3] + (headers, numpy)))
