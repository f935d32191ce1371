// SegFormer (Xie et al. 2021): stages of layers whose keys are those of fewer places than queries,
// with convolutions between them and within feed-forwards. It gives logits of labels for each
// place, or classifies.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/image_network.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/batch_norm.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/plane_resize.h"

namespace pippin::models::vision {
namespace {

using array::Array;

// Of the class, whatever layer_norm_eps is.
constexpr nn::NormOptions kNorm = {
    .kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};

struct SegStage {
  int64_t inputs = 0, features = 0, hidden = 0, heads = 1;
  int64_t depth = 1, patch = 3, stride = 2;
  int64_t reduction = 1;  // of rows and columns of keys

  nn::Grid grid(nn::Grid from) const {
    const auto side = [&](int64_t length) { return (length + patch / 2 * 2 - patch) / stride + 1; };
    return {side(from.height), side(from.width)};
  }
};

struct SegFormer {
  std::vector<SegStage> stages;
  nn::Activation activation = nn::Activation::Gelu;
  int64_t decoder = 256, labels = 0;

  // The rows of each stage, after its norm.
  struct Rows {
    Array rows;
    nn::Grid grid;
  };
  std::vector<Rows> encoded(const nn::Parameters& encoder, const Array& pixels) const;
  Array decoded(const nn::Parameters& head, const std::vector<Rows>& stages) const;

 private:
  Array layer(const nn::Parameters& parameters, const SegStage& stage, Array x,
              nn::Grid grid) const;
};

Array seg_attention(const nn::Parameters& parameters, const SegStage& stage, const Array& x,
                    nn::Grid grid) {
  const array::Scope scope(parameters.path());
  const nn::Parameters own = parameters.at("self");
  const int64_t features = stage.features, heads = stage.heads, batch = x.dim(0).constant();
  Array seen = x;
  if (stage.reduction > 1) {
    const nn::Convolution reduce(own.at("sr"),
                                 {.dims = {features, features, stage.reduction, stage.reduction},
                                  .strides = {stage.reduction}});
    seen = nn::Norm(own.at("layer_norm"), features,
                    kNorm)(nn::rows_of_planes(reduce(nn::planes_of_rows(x, grid))));
  }
  const auto split = [&](const char* name, const Array& rows) {
    const Array all = nn::Linear(own.at(name), features, features, /*bias=*/true)(rows);
    return array::transpose(array::reshape(all, {batch, rows.dim(1), heads, features / heads}),
                            {0, 2, 1, 3});
  };
  const Array attended = array::scaled_dot_product_attention(split("query", x), split("key", seen),
                                                             split("value", seen));
  const Array joined =
      array::reshape(array::transpose(attended, {0, 2, 1, 3}), {batch, x.dim(1), features});
  return nn::Linear(parameters.at("output.dense"), features, features, /*bias=*/true)(joined);
}

Array SegFormer::layer(const nn::Parameters& parameters, const SegStage& stage, Array x,
                       nn::Grid grid) const {
  const array::Scope scope(parameters.path());
  const int64_t features = stage.features, hidden = stage.hidden;
  const Array first = nn::Norm(parameters.at("layer_norm_1"), features, kNorm)(x);
  x = x + seg_attention(parameters.at("attention"), stage, first, grid);
  const Array second = nn::Norm(parameters.at("layer_norm_2"), features, kNorm)(x);
  const nn::Parameters mlp = parameters.at("mlp");
  const nn::Convolution depthwise(
      mlp.at("dwconv.dwconv"),
      {.dims = {hidden, 1, 3, 3}, .groups = hidden, .padding = {1, 1, 1, 1}});
  const Array up = nn::Linear(mlp.at("dense1"), features, hidden, /*bias=*/true)(second);
  const Array mixed = nn::rows_of_planes(depthwise(nn::planes_of_rows(up, grid)));
  return x + nn::Linear(mlp.at("dense2"), hidden, features,
                        /*bias=*/true)(nn::apply(activation, mixed));
}

std::vector<SegFormer::Rows> SegFormer::encoded(const nn::Parameters& encoder,
                                                const Array& pixels) const {
  std::vector<Rows> result;
  result.reserve(stages.size());
  nn::Grid grid{pixels.dim(2).constant(), pixels.dim(3).constant()};
  Array planes = pixels;
  for (size_t i = 0; i < stages.size(); ++i) {
    const SegStage& stage = stages[i];
    const auto index = static_cast<int64_t>(i);
    const nn::Parameters start = encoder.at("patch_embeddings").at(index);
    const int64_t around = stage.patch / 2;
    const nn::Convolution cut(start.at("proj"),
                              {.dims = {stage.features, stage.inputs, stage.patch, stage.patch},
                               .strides = {stage.stride},
                               .padding = {around, around, around, around}});
    grid = stage.grid(grid);
    Array x =
        nn::Norm(start.at("layer_norm"), stage.features, kNorm)(nn::rows_of_planes(cut(planes)));
    for (int64_t k = 0; k < stage.depth; ++k) {
      x = layer(encoder.at("block").at(index).at(k), stage, x, grid);
    }
    x = nn::Norm(encoder.at("layer_norm").at(index), stage.features, kNorm)(x);
    if (i + 1 < stages.size()) planes = nn::planes_of_rows(x, grid);
    result.push_back({x, grid});
  }
  return result;
}

// The rows of all stages in one width and on the first one's grid, the last stage first.
Array SegFormer::decoded(const nn::Parameters& head, const std::vector<Rows>& all) const {
  const nn::Grid grid = all.front().grid;
  std::vector<Array> parts;
  parts.reserve(all.size());
  for (size_t i = all.size(); i-- > 0;) {
    const nn::Linear linear(head.at("linear_c").at(static_cast<int64_t>(i)).at("proj"),
                            stages[i].features, decoder, /*bias=*/true);
    const Array planes = nn::planes_of_rows(linear(all[i].rows), all[i].grid);
    parts.push_back(nn::resize_planes(planes, grid, /*align_corners=*/false));
  }
  const nn::Convolution fuse =
      nn::batch_normed(head.at("linear_fuse"), head.at("batch_norm"),
                       {.dims = {decoder, std::ssize(all) * decoder, 1, 1}, .bias = false});
  const Array fused = array::relu(fuse(array::concat(parts, 1)));
  return nn::Convolution(head.at("classifier"), {.dims = {labels, decoder, 1, 1}})(fused);
}

SegFormer read_segformer(const Config& config) {
  constexpr int64_t kMostDepth = 1 << 10, kMostWidth = 1 << 16, kMostSide = 1 << 10;
  constexpr std::string_view kCount = "num_encoder_blocks";
  const auto count = static_cast<size_t>(config.size(kCount, 4, 64));
  const auto list = [&](std::string_view key, std::vector<int64_t> fallback, int64_t most) {
    std::vector<int64_t> sizes = size_list(config, key, std::move(fallback), most);
    if (sizes.size() == count) return sizes;
    config.invalid(key, fmt::format("{} numbers for {} stages", sizes.size(), count));
  };
  const auto depths = list("depths", {2, 2, 2, 2}, kMostDepth);
  const auto widths = list("hidden_sizes", {32, 64, 160, 256}, kMostWidth);
  const auto reductions = list("sr_ratios", {8, 4, 2, 1}, kMostSide);
  const auto patches = list("patch_sizes", {7, 3, 3, 3}, kMostSide);
  const auto strides = list("strides", {4, 2, 2, 2}, kMostSide);
  const auto heads = list("num_attention_heads", {1, 2, 5, 8}, kMaxHeads);
  const auto ratios = list("mlp_ratios", {4, 4, 4, 4}, 64);
  SegFormer net;
  net.stages.resize(count);
  int64_t before = config.size("num_channels", 3, 16);
  for (size_t i = 0; i < count; ++i) {
    net.stages[i] = {.inputs = before,
                     .features = widths[i],
                     .hidden = ratios[i] * widths[i],
                     .heads = heads[i],
                     .depth = depths[i],
                     .patch = patches[i],
                     .stride = strides[i],
                     .reduction = reductions[i]};
    config.require_multiple("hidden_sizes", widths[i], "num_attention_heads", heads[i]);
    before = widths[i];
  }
  net.activation = config.activation("hidden_act", "gelu");
  net.decoder = config.size("decoder_hidden_size", 256);
  config.require_flag("reshape_last_stage", true, true);
  config.ignore({"layer_norm_eps"});
  return net;
}

// Sides of which all stages have keys.
int64_t least_side(const SegFormer& net) {
  int64_t least = 1, step = 1;
  for (const SegStage& stage : net.stages) {
    step = std::min<int64_t>(step * stage.stride, kMostPixels);
    least = std::max(least, std::min(step * stage.reduction, kMostPixels));
  }
  return least;
}

}  // namespace

VisionDescription segformer(const Config& config) {
  constexpr std::string_view kClassifier = "SegformerForImageClassification",
                             kSegmenter = "SegformerForSemanticSegmentation";
  const auto classes = config.find("architectures");
  const std::string name = classes && classes->size() > 0
                               ? std::string(classes->at(size_t{0}).as_string())
                               : std::string(kSegmenter);
  if (name != kClassifier && name != kSegmenter) {
    config.unsupported("architectures", fmt::format("'{}' is not supported (supported: {}, {})",
                                                    name, kClassifier, kSegmenter));
  }
  SegFormer net = read_segformer(config);
  const auto labels = read_labels(config, "", name);
  if (name == kClassifier) {
    ImageNetwork network;
    network.base = "segformer";
    network.tensor = "encoder.patch_embeddings.0.proj.weight";
    network.channels = net.stages.front().inputs;
    network.least_pixels = least_side(net);
    network.features = net.stages.back().features;
    network.labels = labels;
    network.pooled = [net](const nn::Parameters& parameters, const Array& pixels) {
      const Array rows = net.encoded(parameters.at("encoder"), pixels).back().rows;
      return array::reduce_mean(rows, {1}, /*keep_dims=*/true);
    };
    return description_of(std::move(network));
  }
  MapNetwork network;
  network.labels = labels.value_or(VisionLabels{{"LABEL_0", "LABEL_1"}});
  net.labels = std::ssize(network.labels.names);
  network.channels = net.stages.front().inputs;
  network.least_pixels = least_side(net);
  network.grid = [first = net.stages.front()](nn::Grid pixels) { return first.grid(pixels); };
  network.planes = [net](const nn::Parameters& parameters, const Array& pixels) {
    return net.decoded(parameters.at("decode_head"),
                       net.encoded(parameters.at("segformer.encoder"), pixels));
  };
  return description_of(std::move(network));
}

}  // namespace pippin::models::vision
