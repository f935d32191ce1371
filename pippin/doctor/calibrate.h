// Measures the largest inputs of norms and the largest fp16 results while a language model reads a
// text, or a model predicts from given arrays.
#pragma once

#include <filesystem>
#include <string>

#include "pippin/doctor/watching_device.h"

namespace pippin::doctor {

// Measures the package, or the folder of packages of one model, at `path`. `file` is a text that a
// language model of any family reads (up to 2048 tokens; `tokenizer` may be empty: the model's
// own), or X.npz: the inputs, by name, of the default function of one package, for one prediction.
// The result omits packages and functions that did not run or have no such values. Throws
// InvalidArgument for a text that is too short and for arrays that are not inputs or do not fit,
// Unsupported for models that cannot run, and NotFound, Io as app::calibration_tokens().
PackagePeaks measure_peaks(const std::filesystem::path& path, const std::string& file,
                           const std::filesystem::path& tokenizer, int threads);

}  // namespace pippin::doctor
