// The inputs of a language model's weights while it reads a text: compress's InputStatistics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/compress/input_statistics.h"
#include "pippin/mil/model.h"

namespace pippin::app {

struct CalibrationOptions {
  int64_t window = 512;  // tokens read as one sequence, at most the context
  int threads = 0;       // 0: one per core
  // The limit on second moments at a time: the text is read once for each group of weights of this
  // size.
  uint64_t max_bytes = uint64_t{512} << 20;
};

constexpr int64_t kMinCalibrationTokens = 256;

// Reads the first `max_tokens` tokens of a text file. Throws InvalidArgument if it has fewer than
// kMinCalibrationTokens, NotFound, Io.
std::vector<int32_t> calibration_tokens(const std::string& file,
                                        const std::filesystem::path& tokenizer, int64_t max_tokens);

// Collects the inputs of linear, of 1x1 conv, and of matmul with a constant right operand; for an
// embedding table that is also the head, the head's inputs and a part that is the same for all.
// Reads the text on first use. `model` is the source: a language model of the stateful family
// (otherwise Unsupported).
std::shared_ptr<compress::InputStatistics> calibrate(mil::Model model, std::vector<int32_t> ids,
                                                     const CalibrationOptions& options = {});

}  // namespace pippin::app
