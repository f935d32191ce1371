// The files that pippin predict writes its outputs into, each in the form of its name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/cli/predict_report.h"

namespace pippin::cli {

// The argument of --output: "out.npz" and "out.json" for all outputs, "out.npy" and "out.png"
// (.jpg, .bmp, .ppm, .pgm) for one, which "name=out.png" names.
struct OutputFile {
  std::string name;  // empty: all outputs, or the only one of its kind
  std::filesystem::path path;
};
// Throws InvalidArgument for anything else, with the list of accepted forms.
OutputFile parse_output(const std::string& argument);

// Gives each file that holds one output that output's name. Throws InvalidArgument for outputs that
// are not there, that a file cannot hold, or among which it has no choice.
void resolve_outputs(std::vector<OutputFile>& files, const std::vector<FeatureInfo>& outputs);

// Each complete or not at all. `files` are resolved.
void write_outputs(const std::vector<OutputFile>& files, const PredictReport& report);

}  // namespace pippin::cli
