// The largest inputs of norms and results of fp16 while a language model reads a text, or a model
// is given arrays.
#pragma once

#include <filesystem>
#include <string>

#include "pippin/doctor/watching_device.h"

namespace pippin::doctor {

// Of what `path` holds: a package or a folder of packages of one model. `file` is a text that a
// language model of any family reads (up to 2048 tokens; `tokenizer` may be empty: the model's
// own), or X.npz: the inputs of the default function of one package by name, for one prediction.
// Packages and functions that did not run are not in the result, nor are those without such values.
// Throws InvalidArgument for too short a text and for arrays that are no inputs or do not fit,
// Unsupported for what cannot run, NotFound, Io as app::calibration_tokens().
PackagePeaks measure_peaks(const std::filesystem::path& path, const std::string& file,
                           const std::filesystem::path& tokenizer, int threads);

}  // namespace pippin::doctor
