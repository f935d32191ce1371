"""Shared by lint.py, headers.py and libcxx.py: sources of a compile database, several per unit, on all cores."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


# Kernels that only compilers for other processors build.
ELSEWHERE = re.compile(r"/(x86|arm)_[^/]*$")


def entries_of(build, sources):
    """The entries of these files in a build folder's compile_commands.json."""
    database = {os.path.relpath(e["file"], ROOT): e for e in json.loads((build / "compile_commands.json").read_text())}
    missing = [f for f in sources if f not in database and not ELSEWHERE.search(f)]
    if missing:
        sys.exit(f"{missing[0]} is compiled by nothing here and would be left out ({len(missing)} such files)")
    return [database[f] for f in sources if f in database]


def tracked(*patterns):
    """The project's files that match git's patterns, from its root."""
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split()


def git(*arguments):
    """The output of git, or an empty text if it fails."""
    result = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base():
    """The commit from which changes are counted: the one in PIPPIN_CHANGED_SINCE. Without the variable: the commit
    where the branch left origin's default branch; on that branch itself, the newest commit that is more than a day
    older than the last. Empty if there is none."""
    head = git("rev-parse", "HEAD")
    found = os.environ.get("PIPPIN_CHANGED_SINCE") or git("merge-base", "HEAD", "origin/HEAD")
    if found and found != head:
        return found
    day_before = int(git("log", "-1", "--format=%ct")) - 24 * 3600
    return git("rev-list", "-1", f"--before={day_before}", "HEAD")


def changed(sources):
    """Those of `sources` that changed since base(), or for each changed header one source that includes it. All of them
    if there is no such commit."""
    since = base()
    if not since:
        return sources
    names = set(git("diff", "--name-only", since).split())
    # A change of lint.py or its rules may cause findings everywhere.
    if names & {".clang-tidy", ".ci/lint.py", ".ci/units.py"}:
        return sources
    headers = {name for name in names if name.endswith((".h", ".inc"))}
    result = []
    for source in sources:
        included = set(re.findall(r'^#include "([^"]+)"', (ROOT / source).read_text(), re.M)) & headers
        headers -= included
        if source in names or included:
            result.append(source)
    print(f"{len(result)} of {len(sources)} files changed since {since[:8]}, or include a header that did", flush=True)
    return result


def groups_of(entries):
    """[(flags, files)] of entries that can be compiled as one: with the same flags, apart from include folders. Kernels
    for one instruction set have the same names in each folder, so each of their files is a group."""
    groups = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")):]  # a launcher, the compiler
        flags = []
        folders = []
        for word, before in zip(words, ["", *words]):
            if before == "-isystem":
                folders.append((before, word))
            elif word.startswith("-I"):
                folders.append((word,))
            elif not {word, before} & {"-o", "-c", "-MF", "-MT"} and word not in ("-MD", "-isystem"):
                flags.append(word)
        path = os.path.relpath(entry["file"], ROOT)
        alone = path if path.startswith("pippin/kernels/") else ""
        files, known = groups.setdefault((alone, *flags), ([], {}))
        files.append(path)
        known.update(dict.fromkeys(folders))  # a set in order
    return [([*flags, *(word for folder in folders for word in folder)], sorted(set(files)))
            for (_, *flags), (files, folders) in sorted(groups.items())]


def check(groups, sizes, folder, check_unit):
    """Checks the files of each group, sizes[0] of them at a time, on all cores. check_unit(unit, flags, files) checks
    the file `unit`, in `folder`, which includes `files`, and returns the compiler's errors. If files do not compile as
    one, they have a name in common: those with errors are checked in units of sizes[1] files, and so on, and finally
    one by one; the caller gets the errors of single files."""
    folder.mkdir(exist_ok=True)

    def run(flags, files):
        """The files that still need to be checked."""
        unit = folder / f"{files[0].replace('/', '_')}_{len(files)}.cpp"
        unit.write_text("".join(f'#include "{f}"\n' for f in files))
        errors = check_unit(unit, flags, files)
        if not errors or len(files) == 1:
            return []
        named = {os.path.relpath(f, ROOT) for f in re.findall(r"^([^:\s]+):\d+:\d+: ", errors, re.M)}
        left = [f for f in files if f in named]
        if not 0 < len(left) < len(files):
            return files
        return [*run(flags, [f for f in files if f not in named]), *left]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for size in [*sizes, 1]:
            waiting = []
            for flags, files in groups:
                count = -(-len(files) // size)
                parts = [files[len(files) * i // count:len(files) * (i + 1) // count] for i in range(count)]
                waiting.append((flags, [pool.submit(run, flags, part) for part in parts]))
            groups = [(flags, [f for part in parts for f in part.result()]) for flags, parts in waiting]
