// What every package that Pippin writes says of itself, whatever its family.
//
// The headers of this folder are the contracts between who writes packages (models, nn's caches)
// and who reads them (runtime, app): names, file stems and metadata keys stand here and nowhere
// else. What other makers' packages call something is found by its type and shape
// (runtime/package/step_schema.h).
#pragma once

namespace pippin::families {

// User-defined metadata. The model on the Hub that it was made from: other makers say it, too, and
// runners load its tokenizer by it. Then that model's class, Pippin's version, and the family.
inline constexpr const char* kMadeFromKey = "co.huggingface.exporters.name";
inline constexpr const char* kArchitectureKey = "co.huggingface.exporters.architecture";
inline constexpr const char* kVersionKey = "pippin.version";
inline constexpr const char* kFamilyKey = "pippin.family";
// Of a program that is run and not written: the positions that its model was made for, where they
// are more than it holds.
inline constexpr const char* kOwnContextKey = "pippin.own_context";

// The attribute of a program, a dictionary, and the key in it by which Pippin knows its own.
inline constexpr const char* kBuildInfo = "buildInfo";
inline constexpr const char* kBuildInfoVersion = "pippin-version";

// A folder's and a package's file, and the suffix of a stem.
inline constexpr const char* kPackageEnding = ".mlpackage";

// The function of packages that have one.
inline constexpr const char* kMain = "main";

}  // namespace pippin::families
