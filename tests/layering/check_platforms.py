#!/usr/bin/env python3
"""Checks that platform-specific code stays in files for that platform: X_linux.cpp, X_macos.cpp.

    check_platforms.py ROOT          the tree at ROOT (it has a folder pippin/)
    check_platforms.py --self-test   checks that the check can fail

One line per fault; the status is 1 if there is any. Tests may check which system they run on.
"""

import re
import sys
import tempfile
from pathlib import Path

SUFFIXES = (".h", ".cpp", ".inc", ".in")
# Files that need no twin, because systems differ only in a name.
NAMES_ALONE = {
    "pippin/base/embed.h",             # names of sections of object files
    "pippin/base/loaded_library.cpp",  # names of shared libraries
    "pippin/coreml/device.cpp",        # whether Core ML is available
    "pippin/coreml/objective_c.h",     # members that only some versions have
    "pippin/io/load_cache_settings.cpp",  # the user's cache folder
}
SYSTEM = re.compile(r"__(linux|APPLE|MACH|GLIBC)__|TARGET_OS_")
# Calls that exist only on Linux or only on macOS, or differ in meaning.
CALLS = re.compile(
    r"\b(sched_(get|set)affinity|sched_getcpu|cpu_set_t|gettid|prctl|getauxval|sysinfo|memfd_create|mremap|fallocate|"
    r"posix_fallocate|posix_fadvise|readahead|sync_file_range|copy_file_range|renameat2|sendfile|epoll_\w+|eventfd|"
    r"signalfd|timerfd_\w+|inotify_\w+|accept4|pipe2|dup3|ppoll|getrandom|getdents64|statx|malloc_trim|mallopt|"
    r"pthread_(set|get)(name|affinity)\w*|program_invocation_\w+|get_nprocs\w*|secure_getenv|explicit_bzero|io_uring\w*|"
    r"MADV_(HUGEPAGE|DONTNEED|FREE\w*|POPULATE\w*|COLD|PAGEOUT)|MAP_(POPULATE|HUGETLB|LOCKED|FIXED_NOREPLACE)|O_(TMPFILE|DIRECT|PATH|"
    r"NOATIME)|SOCK_(CLOEXEC|NONBLOCK)|MSG_NOSIGNAL|F_OFD_\w+|st_[amc]tim(espec)?|sysctl(byname)?|mach_\w+|host_statistics64|"
    r"pthread_\w*qos\w*|F_(RDADVISE|NOCACHE|PREALLOCATE|FULLFSYNC)|kqueue|kevent|clonefile|fcopyfile)\b"
    r"|\"/(proc|sys)/|<(linux|asm|mach)/")
COMMENT = re.compile(r"//.*")


def faults_of(path, text):
    """The faults in the lines of a file, given its path from the root."""
    stem = Path(path).stem
    if stem.endswith(("_linux", "_macos", "_test", "testing", "_benchmark")):
        return []
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", line)
        if path not in NAMES_ALONE and (match := SYSTEM.search(line)):
            faults.append(f"{path}:{number}: {match.group()}: what one system alone has goes to {stem}_linux.cpp and "
                          f"{stem}_macos.cpp")
        if match := CALLS.search(line):
            faults.append(f"{path}:{number}: not every system has {match.group()}")
    return faults


def twins(paths):
    """Files for one system without a twin for the other, unless only the twin includes them."""
    faults = []
    for path in sorted(paths):
        other = path.replace("_macos.cpp", "_linux.cpp")
        if path.endswith("_macos.cpp") and other not in paths:
            faults.append(f"{path}: no {other}")
    return faults


def check(root):
    paths = {path.relative_to(root).as_posix(): path for path in (root / "pippin").rglob("*")
             if path.suffix in SUFFIXES and path.is_file()}
    faults = twins(paths)
    for place, path in sorted(paths.items()):
        faults += faults_of(place, path.read_text(encoding="utf-8"))
    return faults


def self_test():
    cases = [  # file, line, part of the fault or None
        ("pippin/base/a.cpp", "  ::sched_getaffinity(0, sizeof(set), &set);", "sched_getaffinity"),
        ("pippin/base/a_linux.cpp", "  ::sched_getaffinity(0, sizeof(set), &set);", None),
        ("pippin/base/a.cpp", "// as pipe2() does", None),
        ("pippin/base/a.cpp", "#if defined(__linux__)", "a_linux.cpp"),
        ("pippin/base/a_test.cpp", "#if defined(__linux__)", None),
        ("pippin/base/embed.h", "#if defined(__APPLE__)", None),
        ("pippin/base/embed.h", "  ::gettid();", "gettid"),
        ("pippin/io/a.h", "#include <linux/fs.h>", "<linux/"),
        ("pippin/io/a.cpp", 'std::ifstream("/proc/self/status")', "/proc/"),
        ("pippin/io/a.cpp", "  info.st_mtime;", None),
        ("pippin/io/a.cpp", "  info.st_mtim.tv_nsec;", "st_mtim"),
    ]
    for path, line, part in cases:
        faults = faults_of(path, f"\n{line}\n")
        assert len(faults) == (part is not None), (path, line, faults)
        assert part is None or (part in faults[0] and f"{path}:2:" in faults[0]), (path, line, faults)
    assert twins(["pippin/a_macos.cpp", "pippin/a_linux.cpp", "pippin/b_linux.cpp"]) == []
    assert len(twins(["pippin/a_macos.cpp", "pippin/b_linux.cpp"])) == 1
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "pippin/base").mkdir(parents=True)
        (root / "pippin/base/a.cpp").write_text("int x = gettid();\n", encoding="utf-8")
        assert len(check(root)) == 1
    print("the check can fail")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        return self_test()
    faults = check(Path(sys.argv[1]))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
