// The report of pippin predict: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::cli {

struct PredictReport {
  std::string model, function, precision;
  int threads = 0;
  Values outputs;
  std::vector<FeatureInfo> output_features, states;
  double load_seconds = 0;
  std::vector<double> run_seconds;  // one per run
};

// A line per output, in the model's order.
std::string output_table(const PredictReport& report);
std::string timing_lines(const PredictReport& report);
// Some: only outputs of up to 100 elements.
enum class Elements : bool { Some, All };
std::string report_json(const PredictReport& report, Elements elements = Elements::Some);

}  // namespace pippin::cli
