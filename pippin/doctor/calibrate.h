// How large the inputs of norms become while a language model reads a text.
#pragma once

#include <filesystem>
#include <string>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

// Of the norms that square their input in fp16 (norms.h), in the default function; computed in
// fp32, so nothing overflows while it is measured. `tokenizer` may be empty: the package's own.
// Empty for a model without such norms. Throws Unsupported for anything but a package of the family
// stateful; InvalidArgument, NotFound, Io as app::calibration_tokens().
Peaks measure_peaks(const mil::Model& model, const std::string& text,
                    const std::filesystem::path& tokenizer, int threads);

}  // namespace pippin::doctor
