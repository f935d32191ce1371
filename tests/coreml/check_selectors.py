#!/usr/bin/env python3
"""Compares the declarations of the Core ML stand-in with those that NativeScript generated from Apple's SDK
(npm's @nativescript/types-ios): classes, members, the iOS version that introduced them, and the values of
enumerations.

    check_selectors.py HEADER TYPES        TYPES: the folder with objc!CoreML.d.ts
    check_selectors.py HEADER              the same, from PIPPIN_NATIVESCRIPT_TYPES; status 77 if it is not set
    check_selectors.py --self-test         that the check can fail

Code compiled against the stand-in can send no other messages, so this checks pippin/coreml/core_*.mm too.
"""

import os
import re
import sys
from pathlib import Path

# Renamed or spelled differently in TypeScript.
SAME = {"objectAtIndexedSubscript": "objectAtIndexedSubscript"}
SKIPPED = 77


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def joined(selector):
    """initWithShape:dataType:error: -> initWithShapeDataTypeError, as NativeScript names methods."""
    first, *rest = [part for part in selector.split(":") if part]
    return first + "".join(part[0].upper() + part[1:] for part in rest)


def selector_of(method):
    """The selector of a declaration without its return type and attributes."""
    text = re.sub(r"\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)", "", method)
    parts = re.findall(r"(\w+)\s*:", text)
    return "".join(part + ":" for part in parts) if parts else text.split()[0]


def declared(header):
    """(class, member, whether it is a property, version or "") of all members, and (enumeration, {name: number})."""
    text = without_comments(header)
    members, enums = [], {}
    for name, body in re.findall(r"typedef NS_ENUM\(NSInteger, (\w+)\) \{(.*?)\};", text, re.S):
        enums[name] = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", body)}
    for since, name, body in re.findall(
            r"(?:SINCE\(([\d.]+)\)\s+)?@(?:interface|protocol) (\w+)[^\n]*\n(.*?)@end", text, re.S):
        members.append((name, None, False, since))
        for statement in body.split(";"):
            statement = " ".join(statement.split())
            version = re.search(r"SINCE\(([\d.]+)\)", statement)
            version = version.group(1) if version else since  # by default its class's
            statement = re.sub(r"SINCE\([\d.]+\)", "", statement).strip()
            if statement.startswith("@property"):
                members.append((name, re.search(r"(\w+)$", statement).group(1), True, version))
            elif statement[:1] in ("+", "-"):
                members.append((name, joined(selector_of(statement[1:].strip())), False, version))
    return members, enums


def apples(types):
    """{class: {member: version or ""}} and {enumeration: {name: number}}."""
    classes, enums = {}, {}
    for above, name, body in re.findall(
            r"(/\*\*(?:(?!\*/).)*\*/)?\s*^(?:declare class|interface) (\w+)[^\n{]*\{\n(.*?)^\}", types, re.S | re.M):
        came = re.search(r"@since ([\d.]+)", above)
        members = classes.setdefault(name, {None: came.group(1) if came else ""})
        for comment, member in re.findall(
                r"(/\*\*(?:(?!\*/).)*\*/)?\s*(?:static )?(?:readonly )?(\w+)(?=[(:?])[^\n]*;", body, re.S):
            since = re.search(r"@since ([\d.]+)", comment)
            members.setdefault(member, since.group(1) if since else members[None])
    for name, body in re.findall(r"declare const enum (\w+) \{(.*?)\}", types, re.S):
        enums[name] = {name + key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", body)}
    return classes, enums


def faults(header, types):
    classes, enums = apples(types)
    found = []
    members, own_enums = declared(header)
    if len(members) < 3:
        found.append("the header declares nothing")
    for name, member, _, version in members:
        if name not in classes:
            found.append(f"no class {name}")
        elif member not in classes[name]:
            found.append(f"{name} has no {member}")
        # Members introduced with iOS 11, like the framework, or before the SDK's records are always present.
        elif (classes[name][member] or "11.0") != (version or classes[name][member] or "11.0") or (
                not version and float(classes[name][member] or 0) > 11):
            what = f"{name}.{member}" if member else name
            found.append(f"{what} came with iOS {classes[name][member] or 11}, not {version or 11}")
    for name, values in own_enums.items():
        for key, value in values.items():
            if enums.get(name, {}).get(key) != value:
                found.append(f"{key} is {enums.get(name, {}).get(key)}, not {value}")
    return found


def self_test():
    types = """/**
 * @since 12.0
 */
declare class MLUnit extends NSObject {
	readonly name: string;
}
declare class MLModel extends NSObject {
\t/**
\t * @since 18.0
\t */
\tnewState(): MLState;

\tpredictError(input: X, error?: Y): Z | null;

\treadonly size: number;
}
declare const enum MLUnits {
\tAll = 2
}
"""
    header = """typedef NS_ENUM(NSInteger, MLUnits) {
  MLUnitsAll = %s,
};
SINCE(%s)
@interface MLUnit : NSObject
@property(readonly) NSString* name;
@end
@interface MLModel : NSObject
@property(readonly) NSInteger %s;
- (MLState*)newState SINCE(%s);
- (nullable id)predict:(void (^)(id _Nullable a, NSError* b))x %s:(NSError**)error;
@end
"""
    cases = [(("2", "12.0", "size", "18.0", "error"), None),
             (("3", "12.0", "size", "18.0", "error"), "MLUnitsAll is 2"),
             (("2", "13.0", "size", "18.0", "error"), "MLUnit came with iOS 12.0"),
             (("2", "13.0", "size", "18.0", "error"), "MLUnit.name came with iOS 12.0"),
             (("2", "12.0", "length", "18.0", "error"), "no length"),
             (("2", "12.0", "size", "17.0", "error"), "came with iOS 18.0"),
             (("2", "12.0", "size", "18.0", "fault"), "no predictFault")]
    wrong = 0
    for values, expected in cases:
        found = "; ".join(faults(header % values, types))
        if (expected or "") not in found or (expected is None and found):
            print(f"{values}: expected {expected}, found {found or None}")
            wrong += 1
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    folder = sys.argv[2] if len(sys.argv) == 3 else os.environ.get("PIPPIN_NATIVESCRIPT_TYPES", "")
    if not folder:
        folder = Path(__file__).resolve().parents[2] / (
            "build/clients/node_modules/@nativescript/types-ios/lib/ios/objc-x86_64")
    path = Path(folder) / "objc!CoreML.d.ts"
    if not path.is_file():
        print(f"skipped: no {path} (tests/serve/install_clients.sh, or PIPPIN_NATIVESCRIPT_TYPES names its folder)")
        return SKIPPED
    found = faults(Path(sys.argv[1]).read_text(encoding="utf-8"), path.read_text(encoding="utf-8"))
    print("\n".join(found) if found else "the stand-in declares what Apple's SDK does")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
