// The report of pippin run: lines for people, JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/runtime/generator.h"

namespace pippin::cli {

struct RunReport {
  std::string model;
  std::string text;
  std::vector<int32_t> prompt_ids;
  runtime::GenerateResult result;
  uint64_t seed = 0;
  double load_seconds = 0;
  uint64_t peak_memory_bytes = 0;
  int threads = 0;
  int64_t context = 0;
  int64_t cached_tokens = -1;  // prompt tokens from --prompt-cache; negative: not given
};

// coreml-llm-cli's lines with its names, then further ones.
std::string statistics_lines(const RunReport& report, bool verbose);
// Only the lines that report that the text ended or lost tokens because the context was full.
std::string overflow_lines(const RunReport& report);
std::string report_json(const RunReport& report);

}  // namespace pippin::cli
