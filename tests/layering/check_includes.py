#!/usr/bin/env python3
"""Checks every #include "pippin/..." line against the table of allowed includes, and that headers are included
before the first line of code.

    check_includes.py ROOT          the tree at ROOT (it has a folder pippin/)
    check_includes.py --self-test   checks that the check can fail

One line per fault; the status is 1 if there is any.
"""

import re
import sys
import tempfile
from pathlib import Path

# Folder -> folders that it may include in addition to itself. Lower layers come first; tests, fuzz targets and
# benchmarks may include everything.
ALLOWED = {
    "base": [],
    "terminal": ["base"],
    "io": ["base"],
    "batch": ["base", "io"],
    "image": ["base", "io"],
    "sound": ["base", "io"],
    "http": ["base"],
    "page": ["base"],
    "shell": ["base", "io"],
    "families": [],
    "kernels": ["base"],
    "hub": ["base", "io", "families"],
    "tokenizers": ["base", "io"],
    "chat": ["base", "io"],
    "constrain": ["base", "io", "tokenizers"],
    "model_output": ["base", "io", "tokenizers", "chat", "constrain"],
    "tabular": ["base"],
    "mil": ["base", "io", "tabular"],
    "array": ["base", "io", "mil"],
    "compress": ["base", "io", "kernels", "mil"],
    "engine": ["base", "io", "kernels", "mil"],
    "coreml": ["base", "io", "mil", "engine"],
    "cuda": ["base", "io", "kernels", "mil", "engine"],
    "pipeline": ["base", "mil", "engine"],
    "mx": ["base", "io", "kernels", "mil", "array", "engine"],
    "nn": ["base", "io", "families", "kernels", "mil", "array"],
    "models": ["base", "io", "image", "sound", "families", "mil", "array", "nn"],
    "demo": ["base"],
    "runtime": ["base", "io", "image", "families", "tokenizers", "chat", "constrain", "mil", "engine"],
    "speech": ["base", "io", "sound", "families", "tokenizers", "mil", "engine", "runtime"],
    "scheduling": ["base", "io", "tokenizers", "constrain", "runtime"],
    "app": ["base", "io", "batch", "families", "kernels", "hub", "tokenizers", "chat", "constrain", "model_output", "mil", "compress", "engine", "models", "demo", "runtime", "image", "sound", "speech"],
    "doctor": ["base", "io", "families", "tabular", "mil", "engine", "runtime", "app"],
    "server": ["base", "io", "batch", "image", "sound", "http", "hub", "page", "shell", "tokenizers", "chat", "constrain", "model_output", "runtime", "speech", "scheduling", "app"],
    "repl": ["base", "io", "http", "shell", "hub", "terminal", "server"],
    "api": ["base", "io", "hub", "chat", "constrain", "tabular", "mil", "engine", "coreml", "cuda", "runtime", "image", "sound", "speech", "app"],
    "c": ["base", "io", "runtime", "speech", "api"],
}
# The rooms (subfolders) of a folder: the rooms that each may include in addition to itself, in the same order. ""
# stands for the headers in the folder itself, its interface; sources in the folder itself may include all of its rooms.
ROOMS = {
    "base": {
        "": [],
        "platform": [""],
        "threads": ["", "platform"],
        "numbers": [""],
        "files": ["", "platform", "threads"],
    },
    "image": {
        "": [],
        "processors": [""],
        "prompt": ["", "processors"],
    },
    "tokenizers": {
        "unicode": [],
        "tables": [],
        "regex": ["unicode"],
        "": ["tables", "regex"],
        "files": ["", "tables"],
    },
    "constrain": {
        "": [],
        "patterns": [""],
        "gbnf": ["", "patterns"],
        "schema": ["", "patterns"],
    },
    "mil": {
        "": [],
        "ops": [""],
        "check": ["", "ops"],
        "text": [""],
        "networks": ["", "ops", "check"],
        "proto": ["", "networks"],
        "package": ["", "check", "text", "networks", "proto"],
    },
    "engine": {
        "": [],
        "nodes": [""],
        "run": ["", "nodes"],
        "weights": ["", "nodes", "run"],
        "cpu": ["", "nodes", "run", "weights"],
        "lowering": ["", "nodes", "run", "weights", "cpu"],
        "fusion": ["nodes", "run", "weights", "cpu", "lowering"],
        "planning": ["", "nodes", "run", "cpu", "lowering", "fusion"],
        "reference": [""],
        "dynamic": ["", "nodes", "run", "cpu", "planning"],
    },
    "cuda": {
        "emulate": [],
        "kernels": ["emulate"],
        "driver": [],
        "launchers": ["kernels"],
        "": [],
        "run": ["", "driver", "launchers"],
        "fake": ["", "driver", "emulate", "kernels", "launchers", "run"],
    },
    "mx": {
        "core": [],
        "record": ["core"],
        "loops": ["core"],
        "ops": ["core", "record", "loops"],
        "io": ["core", "ops"],
        "export": ["core", "record"],
        "nn": ["core", "ops", "io"],
        "": ["core", "loops", "ops", "io", "export"],
    },
    "nn": {
        "weights": [],
        "layers": ["weights"],
        "experts": ["weights", "layers"],
        "recurrent": ["weights", "layers"],
        "attention": ["weights", "layers", "recurrent"],
        "": ["weights", "layers", "experts", "recurrent", "attention"],
        "speech": ["", "weights", "layers", "recurrent", "attention"],
        "vision": ["", "weights", "layers", "attention"],
    },
    "models": {
        "config": [],
        "": ["config"],
        "family": ["", "config"],
        "gguf": ["", "config"],
        "encoders": ["", "config", "gguf", "family"],
        "speech": ["", "config", "family"],
        "vision": ["", "config", "family"],
    },
    "runtime": {
        "sampling": [],
        "": ["sampling"],
        "draft": ["", "sampling"],
        "package": [""],
        "stateful": ["", "package"],
        "anemll": ["", "sampling", "package"],
        "windowed": ["", "package"],
        "coreml_llm": ["", "package"],
        "speech": ["", "package"],
        "vision": ["", "package"],
        "open": ["", "package", "stateful", "anemll", "windowed", "coreml_llm", "vision"],
    },
    "speech": {
        "": [],
        "recognition": [""],
        "voice": [""],
        "whisperkit": [""],
        "writers": [""],
    },
    "app": {
        "open": [],
        "": ["open"],
        "convert": ["open"],
        "facts": ["", "open", "convert"],
        "card": [],
    },
    "cli": {
        "options": [],
        "": ["options"],
        "batch": ["", "options"],
        "bench": ["", "options"],
        "release": ["", "options"],
    },
}
# Rooms of a folder that choose kernels. Elsewhere in it the kernels' arguments (args.h) may be included, nothing else.
KERNEL_ROOMS = {"engine": ["weights", "cpu"]}
TOP = ["cli", "python"]  # may include all of the above, and those before them in this list

SUFFIXES = {".h", ".cpp", ".inc", ".mm", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
HEADER = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+\.h")')
NO_CODE = re.compile(r"^\s*(#|//|$)")
# Folders whose headers may be code for the vectors that the including file chose.
TEXTUAL = {"kernels"}
OUTSIDE = ("pippin/", "tests/", "benchmarks/", "fuzz/")


def allowed_for(folder):
    if folder in ALLOWED:
        return {folder, *ALLOWED[folder]}
    if folder in TOP:
        return {*ALLOWED, *TOP[: TOP.index(folder) + 1]}
    return None


def room_of(parts):
    """The room in the parts of a path: pippin/engine/run/step.h is in run, pippin/engine/plan.h in no room."""
    return parts[2] if len(parts) > 3 else ""


def room_fault(place, target):
    """The fault of a file at `place` that includes `target`, a path in the same folder."""
    rooms = ROOMS.get(place.parts[1])
    if rooms is None or target[1] != place.parts[1]:
        return None
    room, other = room_of(place.parts), room_of(target)
    for name in (room, other):
        if name not in rooms:
            return f"{place.parts[1]}/{name} is not in the table of {Path(__file__).name}"
    if room == other or other in rooms[room] or (room == "" and place.suffix == ".cpp"):
        return None
    return f"{place.parts[1]}/{room} may not include {'/'.join(target[1:])}"


def faults_of_line(place, allowed, line, is_test):
    folder = place.parts[1]
    match = INCLUDE.match(line)
    if not match:
        return None
    target = match.group(1)
    if target.endswith(".pb.h"):  # generated, in the folder of its .proto
        return None
    if not target.startswith(OUTSIDE):
        return f'"{target}" is not a path from the root of the project'
    if not target.startswith("pippin/"):
        return None if is_test else f"{folder} may not include {target}"
    parts = target.split("/")
    if ".." in parts or len(parts) < 3:
        return f'"{target}" is not a header of a folder'
    if parts[1] not in allowed and not is_test:
        return f"{folder} may not include {parts[1]} ({target})"
    if is_test:
        return None
    if parts[1] == "kernels" and parts[-1] != "args.h" and room_of(place.parts) not in KERNEL_ROOMS.get(folder, [room_of(place.parts)]):
        return f"{folder}/{room_of(place.parts)} may not choose kernels ({target})"
    return room_fault(place, parts)


def late_include(lines):
    """The number of the first line that includes a header after code (in a namespace, a function, an initializer)."""
    has_code = is_continued = False
    for number, line in enumerate(lines, 1):
        if has_code and HEADER.match(line):
            return number
        has_code = has_code or not (is_continued or NO_CODE.match(line))
        is_continued = line.endswith("\\")
    return None


def check(root):
    faults = []
    for path in sorted((root / "pippin").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        place = path.relative_to(root)
        if len(place.parts) < 3:
            faults.append(f"{place}: lies in no folder of pippin/")
            continue
        folder = place.parts[1]
        allowed = allowed_for(folder)
        if allowed is None:
            faults.append(f"{place}: the folder {folder} is not in the table of {Path(__file__).name}")
            continue
        # A test is next to the code it tests and may include more.
        is_test = path.stem.endswith(("_test", "testing", "_benchmark"))
        lines = path.read_text(encoding="utf-8").splitlines()
        late = None if folder in TEXTUAL else late_include(lines)
        if late:
            faults.append(f"{place}:{late}: includes a header after code")
        for number, line in enumerate(lines, 1):
            fault = faults_of_line(place, allowed, line, is_test)
            if fault:
                faults.append(f"{place}:{number}: {fault}")
    return faults


def check_table(root):
    """Checks that the table orders existing folders: allowed ones come earlier in it, or include less."""
    for folder in [*ALLOWED, *TOP]:
        assert (root / "pippin" / folder).is_dir(), f"{folder} is not a folder of pippin/"
    for folder, below in ALLOWED.items():
        for other in below:
            assert other in ALLOWED, f"{folder}: {other} is not a folder"
            assert folder not in ALLOWED[other], f"{folder} and {other} include each other"
    for folder, rooms in ROOMS.items():
        before = set()
        for room, below in rooms.items():
            assert (root / "pippin" / folder / room).is_dir(), f"{folder}/{room} is not a folder"
            assert before.issuperset(below), f"{folder}/{room} includes what does not stand before it"
            before.add(room)


def self_test():
    cases = [  # file, line, part of the fault or None
        ("pippin/base/a.h", '#include "pippin/base/b.h"', None),
        ("pippin/base/a.h", "#include <vector>", None),
        ("pippin/base/a.h", '#include "pippin/io/json.h"', "base may not include io"),
        ("pippin/io/a.cpp", '  #  include "pippin/mil/type.h"', "io may not include mil"),
        ("pippin/kernels/dot/a.cpp", '#include "pippin/kernels/vec/math.h"', None),
        ("pippin/kernels/dot/a.inc", '#include "pippin/mil/type.h"', "kernels may not include mil"),
        ("pippin/mil/ops/a.cpp", '#include "pippin/kernels/dot/dot.h"', "mil may not include kernels"),
        ("pippin/mil/a.cpp", '#include "type.h"', "not a path from the root"),
        ("pippin/mil/a.cpp", '#include "pippin/io/../engine/plan.h"', "not a header of a folder"),
        ("pippin/mil/a.cpp", '#include "tests/tools.h"', "mil may not include tests/tools.h"),
        ("pippin/array/a.cpp", '#include "pippin/engine/plan.h"', "array may not include engine"),
        ("pippin/nn/a.cpp", '#include "pippin/nn/b.h"', None),
        ("pippin/nn/a.cpp", '#include "pippin/models/llama.h"', "nn may not include models"),
        ("pippin/runtime/a.cpp", '#include "pippin/models/llama.h"', "may not include models"),
        ("pippin/runtime/a_test.cpp", '#include "pippin/models/llama.h"', None),
        ("pippin/api/a.cpp", '#include "pippin/cli/a.h"', "api may not include cli"),
        ("pippin/cli/a.cpp", '#include "pippin/api/a.h"', None),
        ("pippin/c/a.cpp", '#include "pippin/mil/type.h"', "c may not include mil"),
        ("pippin/engine/run/a.cpp", '#include "pippin/engine/plan.h"', None),
        ("pippin/engine/run/a.cpp", '#include "pippin/engine/fusion/a.h"', "engine/run may not include engine/fusion/a.h"),
        ("pippin/engine/a.h", '#include "pippin/engine/run/a.h"', "engine/ may not include engine/run/a.h"),
        ("pippin/engine/a.cpp", '#include "pippin/engine/run/a.h"', None),
        ("pippin/engine/run/a_test.cpp", '#include "pippin/engine/fusion/a.h"', None),
        ("pippin/engine/cpu/a.cpp", '#include "pippin/kernels/dot/dot.h"', None),
        ("pippin/engine/nodes/a.h", '#include "pippin/kernels/dot/args.h"', None),
        ("pippin/engine/fusion/a.cpp", '#include "pippin/kernels/dot/dot.h"', "engine/fusion may not choose kernels"),
        ("pippin/mx/a.cpp", '#include "pippin/kernels/dot/dot.h"', None),
        ("pippin/engine/new/a.h", '#include "pippin/engine/plan.h"', "engine/new is not in the table"),
        ("pippin/io/a.cpp", 'int a[] = {\n#include "pippin/io/a.inc"\n};', None),
        ("pippin/io/a.cpp", '#define A \\\n  int\n#include "pippin/io/b.h"', None),
        ("pippin/io/a.cpp", 'int a[] = {\n#include "pippin/io/b.h"\n};', "a.cpp:3: includes a header after code"),
        ("pippin/io/a.cpp", "namespace a {\n#include <vector>\n}", "a.cpp:3: includes a header after code"),
        ("pippin/kernels/dot/a.cpp", 'namespace a {\n#include "pippin/kernels/dot/tiles.h"\n}', None),
        ("pippin/other/a.cpp", "", "the folder other is not in the table"),
        ("pippin/a.cpp", "", "lies in no folder"),
    ]
    wrong = 0
    for name, line, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / name
            path.parent.mkdir(parents=True)
            path.write_text("// A comment.\n" + line + "\n", encoding="utf-8")
            found = "; ".join(check(Path(root)))
        if (expected or "") not in found or (expected is None and found):
            print(f"{name}: {line}: expected {expected}, found {found or None}")
            wrong += 1
    return wrong


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if sys.argv[1] == "--self-test":
        return 1 if self_test() else 0
    check_table(Path(sys.argv[1]))
    faults = check(Path(sys.argv[1]))
    print("\n".join(faults) if faults else "the includes keep the layers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
