// The output files of pippin predict, whose formats follow from their names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/cli/predict_report.h"

namespace pippin::cli {

// The argument of --output: "out.npz", "out.json" (.jsonl, .csv) for all outputs; "out.npy" and
// "out.png"
// (.jpg, .bmp, .ppm, .pgm) for one output, which "name=out.png" names.
struct OutputFile {
  std::string name;  // empty: all outputs, or the only one that fits
  std::filesystem::path path;
};
// Throws InvalidArgument for other arguments, listing the accepted forms.
OutputFile parse_output(const std::string& argument);

// Sets the output's name of each file that holds one output. Throws InvalidArgument for unknown
// outputs, outputs that a file cannot hold, and ambiguous ones.
void resolve_outputs(std::vector<OutputFile>& files, const std::vector<FeatureInfo>& outputs);

// Writes each file completely or not at all. `files` must be resolved.
void write_outputs(const std::vector<OutputFile>& files, const PredictReport& report);

}  // namespace pippin::cli
