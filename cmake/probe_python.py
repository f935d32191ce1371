"""Prints what a build needs to know of an interpreter, separated by semicolons: its version, 1 if it has the headers of
extension modules, and NumPy's version or nothing. Any Python reads this file."""
import os
import sys
import sysconfig

headers = os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
try:
    import numpy
    numpy = numpy.__version__
except Exception:  # absent, or broken
    numpy = ""
sys.stdout.write("%d.%d.%d;%d;%s" % (sys.version_info[:3] + (headers, numpy)))
