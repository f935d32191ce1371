"""Runs programs that use coremltools, with Pippin in place of Core ML.

    python -m pippin.coreml SCRIPT [ARGUMENT ...]     (also -m MODULE, -c CODE)
    python -m pippin.coreml enable [--user]           from now on in every program of this Python
    python -m pippin.coreml disable
    python -m pippin.coreml doctor                    shows what is installed and whether it works
"""

import os
import runpy
import sys
import types

from . import _startup, install

COMMANDS = ("enable", "disable", "doctor")


def _run(arguments):
    kind, rest = arguments[0], arguments[1:]
    install()
    if kind in ("-m", "-c"):
        if not rest:
            sys.exit(f"python -m pippin.coreml: {kind} needs {'a module' if kind == '-m' else 'code'}")
        sys.path[0] = os.getcwd() if kind == "-m" else ""
        if kind == "-m":
            sys.argv = rest
            return runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        sys.argv = ["-c", *rest[1:]]
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        return exec(compile(rest[0], "<string>", "exec"), vars(module))
    if not os.path.exists(kind):
        sys.exit(f"python -m pippin.coreml: {kind}: no such script; the commands are {', '.join(COMMANDS)}")
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(kind))
    runpy.run_path(kind, run_name="__main__")


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    command, options = arguments[0], arguments[1:]
    if command not in COMMANDS:
        return _run(arguments)
    if options and (command != "enable" or options != ["--user"]):
        sys.exit(f"python -m pippin.coreml {command}: unknown argument {options[0]}")
    try:
        if command == "enable":
            print(f"{_startup.enable(user=bool(options))}: written")
        elif command == "disable":
            print("\n".join(f"{path}: removed" for path in _startup.disable()) or "it was not enabled")
        else:
            from . import _doctor

            return _doctor.examine()
    except OSError as error:
        sys.exit(f"python -m pippin.coreml {command}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
