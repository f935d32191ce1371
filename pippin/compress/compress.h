// Compresses the weights of a model: constants become constexpr operations, which Core ML and the
// engine expand when they load the model.
//
// In place of the weights, the rewritten program has jobs (job.h), so compress() itself reads only
// shapes; write_package then computes one weight after another. A weight shared by functions is
// compressed and stored once.
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
  int64_t channels = 0, inputs = 0;  // sizes of the axes of palettes and of blocks
  uint64_t bytes_before = 0, bytes_after = 0;
  std::shared_ptr<Job> job;  // its measure() is known after the package has been written
};

struct KeptWeight {
  std::string name;
  uint64_t bytes = 0;
  std::string reason;  // why it could not be compressed as requested
};

struct Result {
  std::vector<CompressedWeight> compressed;
  std::vector<KeptWeight> kept;  // weights that the recipe excludes are not listed
};

// The part of a language model in a package, if it is split: all of a recipe's schemes for one
// part.
enum class ModelPart : uint8_t { Whole, Embeddings, Layers, Head };
struct PartialModel {
  mil::Model* model;
  ModelPart part = ModelPart::Whole;
};

// The smallest opset that supports the forms of all of a recipe's schemes.
mil::Opset needed_opset(const Recipe& recipe);

// Throws InvalidArgument if a pattern of the recipe matches no weight, if nothing is left to
// compress, or if a table is also the head and the recipe gives the two different schemes;
// Unsupported, by name, for forms that the model's opset does not have (CoreML6 and CoreML7: int8
// and uint8 per tensor or channel, palettes of 1, 2, 4, 6, 8 bits per tensor, pruning; all others
// need CoreML8). `num_threads` 0: all. With `statistics`, the weights whose inputs are known are
// quantized with error feedback (error_feedback.h) and improved (improve.h).
Result compress(mil::Model& model, const Recipe& recipe, int num_threads = 0,
                std::shared_ptr<InputStatistics> statistics = nullptr);
// The same for models that belong together: a pattern must match a weight in one of them.
Result compress(std::span<const PartialModel> models, const Recipe& recipe, int num_threads = 0);

}  // namespace pippin::compress
