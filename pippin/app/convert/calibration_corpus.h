// Statistics of the inputs of a model's weights over a corpus, a text on each line of a file, made
// together with other processes: a queue in a folder (batch/job.h, batch/claims.h).
//
//   parts/00000003.safetensors   the sums over the texts of shard 3: for each input of products
//                                "NAME", the name of its first weight, F32 (size, size), the upper
//                                triangle, and "NAME.samples", I64 ()
//
// A part appears when it is complete, and only one process makes it appear. Its numbers do not
// depend on the process, and sums over parts are taken in their order: the statistics are the same
// to the last bit, whatever the number of processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "pippin/app/convert/calibration.h"
#include "pippin/compress/input_statistics.h"
#include "pippin/mil/model.h"

namespace pippin::app {

struct CalibrationCorpus {
  // A text on each line or, if the name ends in .jsonl, an object with "text".
  std::filesystem::path input;
  std::filesystem::path folder;
  uint64_t shard = 0;  // texts of a part; 0: a 16th of the input, at least 16
  std::function<void(uint64_t done, uint64_t total)> progress;  // in texts
};

struct CalibrationSums {
  uint64_t texts = 0, parts = 0;
  int64_t tokens = 0;
};

// `source`: a folder of Hugging Face, or a package of the family stateful. Returns when all parts
// are there, made by this process or others; after a crash, the next call with the folder goes on.
// Throws as calibrate(), models::build() and batch::open_job(); InvalidArgument if the texts have
// fewer than kMinCalibrationTokens tokens.
CalibrationSums calibrate_corpus(const std::filesystem::path& source,
                                 const CalibrationCorpus& corpus,
                                 const CalibrationOptions& options = {});

// Whether the path is such a folder.
bool is_calibration_folder(const std::filesystem::path& path);

// The statistics of a complete folder for a model with the same weights. Throws InvalidArgument if
// parts are missing; moments() throws InvalidFile if a part has no such input, naming it.
std::shared_ptr<compress::InputStatistics> stored_calibration(const mil::Model& model,
                                                              const std::filesystem::path& folder);

}  // namespace pippin::app
