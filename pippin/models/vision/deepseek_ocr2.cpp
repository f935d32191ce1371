// DeepSeek-OCR 2: Segment Anything's encoder, whose rows and learned queries go through the layers
// of a Qwen2; the queries' states are projected. Large images also have tiles. A vector marks the
// end of the image.
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/sam.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

constexpr const char* kLocal = "pixel_values_local";
// The queries for tiles of 768 and of 1024 pixels.
constexpr int64_t kFewQueries = 144, kManyQueries = 256;

struct DeepseekOcr2Tower {
  SamTower sam;
  std::vector<nn::LayerOptions> layers;
  double rope_theta = 0;
  int64_t width = 0;

  static int64_t queries_for(int64_t rows) {
    return rows <= kFewQueries ? kFewQueries : kManyQueries;
  }
  int64_t rows_of(nn::Grid grid) const;
  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels) const;
  array::Array through_layers(const nn::Parameters& encoder, const array::Array& rows) const;
};

// After the convolutions.
int64_t DeepseekOcr2Tower::rows_of(nn::Grid grid) const {
  for (size_t i = 0; i < sam.net.halvings.size(); ++i) {
    grid = {(grid.height + 1) / 2, (grid.width + 1) / 2};
  }
  return grid.count();
}

// The rows of the tiles, then those of the whole image with the vector at its end.
image::VisionPasses DeepseekOcr2Tower::passes(const image::ImageInputs& inputs) const {
  const Tiles whole = tiles_of(inputs);
  if (whole.count != 1) {
    fail(ErrorCode::InvalidArgument, "pixel_values: {} images, the whole image alone is expected",
         whole.count);
  }
  image::VisionPasses passes;
  image::VisionRun run;
  int64_t row = 0;
  const auto add = [&](const Tiles& tiles, const char* further) {
    const int64_t queries = queries_for(rows_of(sam.grid_of(tiles)));
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      passes.passes.push_back(
          {{{1, tiles.channels, tiles.height, tiles.width}, {}}, tile * tiles.pixels(), further});
      // Each pass has that vector.
      const image::VisionRun own = run_of(row, queries);
      run.rows.insert(run.rows.end(), own.rows.begin(), own.rows.end());
      row += queries + 1;
    }
  };
  const auto local = inputs.further.find(kLocal);
  if (local != inputs.further.end()) add(tiles_of_array(local->second, kLocal), kLocal);
  add(whole, "");
  run.rows.push_back(row - 1);
  passes.runs.push_back(std::move(run));
  return passes;
}

// The rows see each other, a query sees them and the queries before it.
array::Array DeepseekOcr2Tower::through_layers(const nn::Parameters& encoder,
                                               const array::Array& rows) const {
  const int64_t count = rows.dim(1).constant(), queries = queries_for(count);
  const int64_t features = rows.dim(2).constant(), all = count + queries;
  const nn::Parameters table = encoder.at(queries == kFewQueries ? "query_768" : "query_1024");
  const array::Array learned = array::expand_dims(table.get("weight", {queries, features}), {0});
  const int64_t pairs = layers.front().attention().head_dim / 2;
  std::vector<double> angles, mask;
  angles.reserve(static_cast<size_t>(all * pairs));
  mask.reserve(static_cast<size_t>(all * all));
  for (int64_t i = 0; i < all; ++i) {
    for (int64_t k = 0; k < pairs; ++k) {
      const double share = static_cast<double>(k) / static_cast<double>(pairs);
      angles.push_back(static_cast<double>(i) * std::pow(rope_theta, -share));
    }
    for (int64_t k = 0; k < all; ++k) {
      const bool seen = k < count || k <= i;
      mask.push_back(seen ? 0 : -std::numeric_limits<double>::infinity());
    }
  }
  const nn::Rotation rotation = nn::rotation_by(angles, all, rows.type());
  const array::Array hidden = array::constant(rows.type(), {1, 1, all, all}, mask, "mask");
  const nn::Parameters model = encoder.at("model.model");
  array::Array x = array::concat({rows, learned}, 1);
  x = nn::VisionLayers(model.at("layers"), layers)(x, &rotation, &hidden);
  x = nn::Norm(model.at("norm"), features, layers.front().norm)(x);
  return array::slice_axis(x, 1, count, all);
}

array::Array DeepseekOcr2Tower::record(const nn::Parameters& parameters,
                                       const array::Array& pixels) const {
  const nn::Parameters at = parameters.at("model");
  const nn::PatchEmbeddingOptions& patches = sam.net.patches;
  const nn::Grid grid{pixels.dim(2).constant() / patches.height,
                      pixels.dim(3).constant() / patches.width};
  const array::Array rows =
      nn::rows_of_planes(nn::sam_encode(at.at("sam_model"), sam.for_grid(grid), pixels));
  const array::Array states = through_layers(at.at("qwen2_model"), rows);
  const array::Array projected = nn::projection_of(
      at.at("projector.layers"), states.dim(2).constant(), width, /*bias=*/true)(states);
  constexpr const char* kEnd = "view_seperator";  // as the checkpoint spells it
  const int64_t outputs = projected.dim(2).constant();
  const array::Array end = nn::reshaped_weight(at.get(kEnd, {outputs}), kEnd, {1, 1, outputs});
  return array::concat({projected, end}, 1);
}

std::vector<nn::LayerOptions> read_query_layers(const Config& config, int64_t features) {
  nn::LayerOptions layer;
  layer.features = config.size("hidden_size", 896);
  if (layer.features != features) {
    config.invalid("hidden_size",
                   fmt::format("{}: downsample_channels ends with {}", layer.features, features));
  }
  layer.norm = {.epsilon = config.number("rms_norm_eps", 1e-6)};
  nn::AttentionOptions& attention = layer.attention();
  attention.features = layer.features;
  attention.num_heads = config.size("num_attention_heads", 14, kMaxHeads);
  attention.num_kv_heads = config.size("num_key_value_heads", 2, kMaxHeads);
  config.require_multiple("hidden_size", layer.features, "num_attention_heads",
                          attention.num_heads);
  config.require_multiple("num_attention_heads", attention.num_heads, "num_key_value_heads",
                          attention.num_kv_heads);
  attention.head_dim = layer.features / attention.num_heads;
  if (attention.head_dim % 2 != 0) {
    config.invalid("num_attention_heads", "heads of an odd size cannot be rotated");
  }
  attention.qkv_bias = true;
  attention.rope = 0;
  attention.rope_dims = attention.head_dim;
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = layer.features;
  mlp.hidden_features = config.size("intermediate_size", 4864);
  mlp.activation = config.activation("hidden_act", "silu");
  const auto count = static_cast<size_t>(config.size("num_hidden_layers", 24, kMaxLayers));
  return std::vector<nn::LayerOptions>(count, layer);
}

}  // namespace

VisionDescription deepseek_ocr2(const Config& config) {
  const Config vision = vision_part(config);
  const auto part = [&](std::string_view key) {
    const auto found = vision.find(key);
    return Config(found ? *found : Json::parse("{}", vision.json().where(key)));
  };
  DeepseekOcr2Tower model;
  const Config sam = part("sam_config"), encoder = part("encoder_config");
  model.sam = read_sam(sam);
  nn::SamEncoderOptions& net = model.sam.net;
  net.patches.path = "patch_embed.proj";
  net.layers_path = "blocks";
  for (nn::SamLayerOptions& layer : net.layers) {
    layer.attention_norm = "norm1";
    layer.mlp_norm = "norm2";
  }
  net.first = "neck.0";
  net.first_norm = "neck.1";
  net.second = "neck.2";
  net.second_norm = "neck.3";
  const auto given = sam.find("downsample_channels");
  const std::vector<int64_t> channels = given ? given->as_ints() : std::vector<int64_t>{512, 896};
  if (channels.size() != 2 || channels[0] < 1 || channels[1] < 1 || channels[0] > kMaxSize ||
      channels[1] > kMaxSize) {
    sam.invalid("downsample_channels", "two numbers above 0 are expected");
  }
  net.halvings = {{"net_2", channels[0]}, {"net_3", channels[1]}};
  model.layers = read_query_layers(encoder, channels[1]);
  model.rope_theta = rope_options(encoder, model.layers.front().attention().head_dim, {}).theta;
  encoder.ignore({"layer_types"});
  sam.refuse_unread();
  encoder.refuse_unread();
  model.width = text_width(config);
  const auto shared = std::make_shared<const DeepseekOcr2Tower>(std::move(model));
  VisionDescription description;
  // One of them is used by each size of tiles.
  description.unused = {"model.qwen2_model.query_"};
  description.passes = [shared](const auto& inputs) { return shared->passes(inputs); };
  description.record = [shared](const auto& parameters, const auto& pixels, const auto&) {
    return shared->record(parameters, pixels);
  };
  return description;
}

}  // namespace pippin::models::vision
