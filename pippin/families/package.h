// Metadata of every package that Pippin writes, in any family.
//
// The headers of this folder are the contracts between writers of packages (models, nn's caches)
// and readers (runtime, app): names, file stems and metadata keys are defined only here. Names in
// other makers' packages are found by type and shape (runtime/package/step_schema.h).
#pragma once

namespace pippin::families {

// User-defined metadata. The source model on the Hub, which other makers also write, and whose
// tokenizer runners load; the model's class, Pippin's version, and the family.
inline constexpr const char* kMadeFromKey = "co.huggingface.exporters.name";
inline constexpr const char* kArchitectureKey = "co.huggingface.exporters.architecture";
inline constexpr const char* kVersionKey = "pippin.version";
inline constexpr const char* kFamilyKey = "pippin.family";
// In a program that is run but not written: the positions that its model was made for, if there are
// more than the program has.
inline constexpr const char* kOwnContextKey = "pippin.own_context";

// A dictionary attribute of programs, and Pippin's key in it.
inline constexpr const char* kBuildInfo = "buildInfo";
inline constexpr const char* kBuildInfoVersion = "pippin-version";

// The suffix of a package's file name.
inline constexpr const char* kPackageEnding = ".mlpackage";

// The function of packages with a single one.
inline constexpr const char* kMain = "main";

}  // namespace pippin::families
