// A model with smaller weights: constants become constexpr operations, which Core ML and the engine
// expand when they load the model.
//
// The rewritten program holds jobs (job.h) in place of the weights, so compress() itself reads
// nothing but shapes; write_package then computes weight after weight. A weight that functions
// share is compressed and stored once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/compress/job.h"
#include "pippin/compress/recipe.h"
#include "pippin/mil/package/package.h"

namespace pippin::compress {

struct CompressedWeight {
  std::string name;
  Scheme scheme;  // without defaults
  int64_t elements = 0;
  uint64_t bytes_before = 0, bytes_after = 0;
  std::shared_ptr<Job> job;  // its measure() is known once the package is written
};

struct KeptWeight {
  std::string name;
  uint64_t bytes = 0;
  std::string reason;  // why it could not be compressed as asked
};

struct Result {
  std::vector<CompressedWeight> compressed;
  std::vector<KeptWeight> kept;  // weights that the recipe excludes are not listed
};

// What a model holds of a language model that is several: all of a recipe's schemes for one part.
enum class ModelPart : uint8_t { Whole, Embeddings, Layers, Head };
struct PartialModel {
  mil::Model* model;
  ModelPart part = ModelPart::Whole;
};

// The least opset that has the forms of all of a recipe's schemes.
mil::Opset needed_opset(const Recipe& recipe);

// Throws InvalidArgument if a pattern of the recipe matches no weight, where nothing is left to
// compress, or where a table is a head too and the recipe wants the two differently; Unsupported,
// by name, for what the model's opset does not have (CoreML6 and CoreML7: int8 and uint8 per tensor
// or channel, palettes of 1, 2, 4, 6, 8 bits per tensor, pruning; all else needs CoreML8).
// `num_threads` 0: all. With `statistics` the weights whose inputs it knows are quantized with
// error feedback (error_feedback.h).
Result compress(mil::Model& model, const Recipe& recipe, int num_threads = 0,
                std::shared_ptr<InputStatistics> statistics = nullptr);
// The same for models that belong together: a pattern has to match a weight of one of them.
Result compress(std::span<const PartialModel> models, const Recipe& recipe, int num_threads = 0);

}  // namespace pippin::compress
