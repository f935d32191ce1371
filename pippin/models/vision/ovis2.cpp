// Ovis 2 (Alibaba): a tower with RMS norms, neighbouring patches joined, and a distribution over a
// visual vocabulary whose embeddings are mixed by it.
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::models::vision {
namespace {

constexpr std::string_view kVisionParts[] = {"model.vision_tower", "vision_tower"};
constexpr std::string_view kTables[] = {"model.visual_embeddings_table", "visual_embeddings_table"};

}  // namespace

VisionDescription ovis2(const Config& config) {
  const Config vision = vision_part(config);
  TileTower model;
  model.tower = aimv2_like(vision);
  const nn::VisionTransformerOptions& net = model.tower.net;
  const int64_t vocabulary = vision.size("vocab_size", 16384);
  const int64_t indicators = vision.size("num_visual_indicator_tokens", 5);
  if (indicators >= vocabulary) {
    vision.invalid("num_visual_indicator_tokens",
                   fmt::format("{} of a vocabulary of {}", indicators, vocabulary));
  }
  const std::string tokenize = vision.text("tokenize_function", "softmax");
  if (tokenize != "softmax") {
    vision.unsupported("tokenize_function",
                       fmt::format("'{}' is not supported (supported: softmax)", tokenize));
  }
  const int64_t factor = vision.size("hidden_stride", 1, 64);
  model.rows = joined_rows(vision, "hidden_stride", net.grid, factor);
  model.runs = TileRuns::Each;
  vision.refuse_unread();
  const int64_t width = config.size("hidden_size", 1536);
  const nn::Grid grid = net.grid;
  model.part = [](const nn::Parameters& parameters) {
    return part_with(parameters, kVisionParts, "head_norm.weight").at("transformer");
  };
  model.project = [=](const nn::Parameters& parameters, const array::Array& states) {
    const nn::Parameters tower = part_with(parameters, kVisionParts, "head_norm.weight");
    const array::Array joined = nn::join_patches(states, grid, factor);
    const int64_t words = vocabulary - indicators;
    const array::Array logits =
        nn::Linear(tower.at("head_linear"), joined.dim(2).constant(), words)(joined);
    const nn::NormOptions norm{.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
    const array::Array shares =
        array::softmax(nn::Norm(tower.at("head_norm"), words, norm)(logits));
    // The last rows of the table are those of tokens around an image.
    const array::Array none = array::zeros(
        shares.type(), {shares.dim(0).constant(), shares.dim(1).constant(), indicators});
    const nn::Linear table(part_with(parameters, kTables, "weight"), vocabulary, width,
                           /*bias=*/false, {.transposed = true});
    return table(array::concat({shares, none}, 2));
  };
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
