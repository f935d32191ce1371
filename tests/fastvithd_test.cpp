// FastVLM's checkpoints with the tower's weights: FastViTHD computed a second time, and packages.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/open/open_model.h"
#include "pippin/array/ops.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/image_inputs.h"
#include "pippin/io/safetensors.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/fastvlm.h"
#include "tests/vision_reference.h"
#include "tests/word_tokenizer.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using vision_reference::attended;
using vision_reference::exact_gelu;
using vision_reference::linear;
using vision_reference::mapped;
using vision_reference::normed;
using vision_reference::sum;
using vision_reference::Table;
using vision_reference::TableSource;

constexpr int64_t kFastVitSide = 128, kFastVitWidth = 16, kFastVitRows = 4, kFastVitFeatures = 128;
constexpr std::array<int64_t, 5> kFastVitBlocks = {2, 12, 24, 4, 2};
constexpr const char* kFastVitConfig = R"({
  "model_type": "llava_qwen2", "architectures": ["LlavaQwen2ForCausalLM"], "hidden_size": 16,
  "intermediate_size": 24, "num_attention_heads": 2, "num_key_value_heads": 1,
  "num_hidden_layers": 2, "vocab_size": 40, "max_position_embeddings": 128,
  "tie_word_embeddings": true, "image_token_index": 30, "mm_hidden_size": 128,
  "mm_projector_type": "mlp2x_gelu", "mm_vision_tower": "mobileclip_l_128",
  "mm_vision_select_layer": -2, "mm_use_im_start_end": false, "image_aspect_ratio": "pad"})";
constexpr const char* kFastVitProcessor = R"({
  "image_processor_type": "CLIPImageProcessor", "processor_class": "LlavaProcessor",
  "crop_size": {"height": 128, "width": 128}, "size": {"shortest_edge": 128},
  "image_mean": [0, 0, 0], "image_std": [1, 1, 1]})";

// Planes of a square: a row for each channel.
struct Planes {
  int64_t side = 0;
  Table table;
  int64_t channels() const { return table.rows; }
  double at(int64_t channel, int64_t y, int64_t x) const {
    const bool inside = y >= 0 && x >= 0 && y < side && x < side;
    return inside ? table.at(channel, y * side + x) : 0;
  }
};

// A convolution in whose weight an output has the inputs of its group; zeros surround the planes.
Planes convolved(const TableSource& tensors, const std::string& name, const Planes& x, int64_t size,
                 int64_t stride, int64_t groups) {
  const Table weight = tensors.get(name + ".weight");
  const int64_t side = x.side / stride, outputs = weight.rows;
  const int64_t inputs = x.channels() / groups;
  Planes result{side, Table(outputs, side * side)};
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o / (outputs / groups) * inputs;
    for (int64_t place = 0; place < side * side; ++place) {
      double value = tensors.has(name + ".bias") ? tensors.get(name + ".bias").at(o, 0) : 0;
      for (int64_t k = 0; k < inputs * size * size; ++k) {
        const int64_t dy = k / size % size - size / 2, dx = k % size - size / 2;
        value += weight.at(o, k) * x.at(first + k / (size * size), place / side * stride + dy,
                                        place % side * stride + dx);
      }
      result.table.at(o, place) = value;
    }
  }
  return result;
}

Planes activated(Planes x) {
  x.table = mapped(std::move(x.table), exact_gelu);
  return x;
}

Table transposed(const Table& x) {
  Table result(x.columns, x.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) result.at(j, i) = x.at(i, j);
  }
  return result;
}

// x + scale * y
Planes added(const TableSource& tensors, const std::string& scale, Planes x, const Table& y) {
  const Table factors = tensors.get(scale);
  for (int64_t c = 0; c < x.channels(); ++c) {
    for (int64_t place = 0; place < x.table.columns; ++place) {
      x.table.at(c, place) += factors.at(c, 0) * y.at(c, place);
    }
  }
  return x;
}

Table feed_forward(const TableSource& tensors, const std::string& name, const Planes& x) {
  Planes y = convolved(tensors, name + "conv.conv", x, 7, 1, x.channels());
  const std::string norm = name + "conv.bn.";
  const Table mean = tensors.get(norm + "running_mean"), bias = tensors.get(norm + "bias");
  const Table variance = tensors.get(norm + "running_var"), weight = tensors.get(norm + "weight");
  for (int64_t c = 0; c < y.channels(); ++c) {
    for (int64_t place = 0; place < y.table.columns; ++place) {
      double& value = y.table.at(c, place);
      value = (value - mean.at(c, 0)) / std::sqrt(variance.at(c, 0) + 1e-5) * weight.at(c, 0) +
              bias.at(c, 0);
    }
  }
  y = activated(convolved(tensors, name + "fc1", y, 1, 1, 1));
  return convolved(tensors, name + "fc2", y, 1, 1, 1).table;
}

Planes attention_block(const TableSource& tensors, const std::string& name, const Planes& x) {
  const Table all = linear(tensors, name + "token_mixer.qkv",
                           normed(tensors, name + "norm", transposed(x.table), 1e-5));
  const int64_t channels = x.channels();
  std::vector<Table> parts;
  for (int64_t part = 0; part < 3; ++part) {
    Table& own = parts.emplace_back(all.rows, channels);
    for (int64_t i = 0; i < all.rows; ++i) {
      for (int64_t c = 0; c < channels; ++c) own.at(i, c) = all.at(i, part * channels + c);
    }
  }
  const Table seen = linear(tensors, name + "token_mixer.proj",
                            attended(parts[0], parts[1], parts[2], channels / 32, 32));
  Planes y = added(tensors, name + "layer_scale_1", x, transposed(seen));
  const Table wide = feed_forward(tensors, name + "convffn.", y);
  return added(tensors, name + "layer_scale_2", std::move(y), wide);
}

Table fastvlm_rows(const TableSource& tensors, const float* pixels) {
  const std::string base = "model.vision_tower.vision_tower.model.";
  const std::string stem = base + "patch_embed.", network = base + "network.";
  Planes x{kFastVitSide, Table(3, kFastVitSide * kFastVitSide)};
  std::copy(pixels, pixels + x.table.values.size(), x.table.values.begin());
  x = activated(convolved(tensors, stem + "0.reparam_conv", x, 3, 2, 1));
  x = activated(convolved(tensors, stem + "1.reparam_conv", x, 3, 2, x.channels()));
  x = activated(convolved(tensors, stem + "2.reparam_conv", x, 1, 1, 1));
  // The entries of the list in which the blocks of a stage are.
  constexpr std::array<int64_t, 5> kEntries = {0, 2, 4, 7, 10};
  for (size_t stage = 0; stage < kFastVitBlocks.size(); ++stage) {
    const bool attends = stage >= 3;
    const int64_t entry = kEntries[stage];
    const auto at = [&](int64_t index) { return network + std::to_string(index) + "."; };
    if (stage > 0) {
      const std::string proj = at(entry - (attends ? 2 : 1)) + "proj.";
      x = activated(convolved(tensors, proj + "0.lkb_reparam", x, 7, 2, x.channels()));
      x = activated(convolved(tensors, proj + "1.reparam_conv", x, 1, 1, 1));
    }
    if (attends) x = convolved(tensors, at(entry - 1) + "reparam_conv", x, 7, 1, x.channels());
    for (int64_t block = 0; block < kFastVitBlocks[stage]; ++block) {
      const std::string name = at(entry) + std::to_string(block) + ".";
      if (attends) {
        x = attention_block(tensors, name, x);
        continue;
      }
      x = convolved(tensors, name + "token_mixer.reparam_conv", x, 3, 1, x.channels());
      const Table wide = feed_forward(tensors, name + "convffn.", x);
      x = added(tensors, name + "layer_scale", std::move(x), wide);
    }
  }
  x = convolved(tensors, base + "conv_exp.reparam_conv", x, 3, 1, x.channels());
  Planes mean{1, Table(x.channels(), 1)};
  for (int64_t c = 0; c < x.channels(); ++c) {
    for (int64_t place = 0; place < x.table.columns; ++place) {
      mean.table.at(c, 0) += x.table.at(c, place) / static_cast<double>(x.table.columns);
    }
  }
  Planes narrow = convolved(tensors, base + "conv_exp.se.reduce", mean, 1, 1, 1);
  narrow.table = mapped(std::move(narrow.table), [](double v) { return std::max(v, 0.0); });
  const Planes shares = convolved(tensors, base + "conv_exp.se.expand", narrow, 1, 1, 1);
  for (int64_t c = 0; c < x.channels(); ++c) {
    for (int64_t place = 0; place < x.table.columns; ++place) {
      x.table.at(c, place) /= 1 + std::exp(-shares.table.at(c, 0));
    }
  }
  const Table rows = transposed(activated(std::move(x)).table);
  return linear(tensors, "model.mm_projector.2",
                mapped(linear(tensors, "model.mm_projector.0", rows), exact_gelu));
}

// The tower's tensors and the projector's.
models::Tensors tower_tensors() {
  const std::string base = "model.vision_tower.vision_tower.model.";
  models::Tensors tensors;
  const auto add = [&](const std::string& name, std::vector<int64_t> dims, bool bias = true) {
    if (bias) tensors[name + ".bias"] = {dims.front()};
    tensors[name + ".weight"] = std::move(dims);
  };
  const auto add_feed_forward = [&](const std::string& name, int64_t width) {
    add(name + "conv.conv", {width, 1, 7, 7}, false);
    for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
      tensors[name + "conv.bn." + part] = {width};
    }
    add(name + "fc1", {4 * width, width, 1, 1});
    add(name + "fc2", {width, 4 * width, 1, 1});
  };
  add(base + "patch_embed.0.reparam_conv", {4, 3, 3, 3});
  add(base + "patch_embed.1.reparam_conv", {4, 1, 3, 3});
  add(base + "patch_embed.2.reparam_conv", {4, 4, 1, 1});
  int64_t entry = 0;
  for (size_t stage = 0; stage < kFastVitBlocks.size(); ++stage) {
    const int64_t width = int64_t{4} << stage;
    const auto next = [&] { return fmt::format("{}network.{}.", base, entry++); };
    if (stage > 0) {
      const std::string proj = next() + "proj.";
      add(proj + "0.lkb_reparam", {width, 1, 7, 7});
      add(proj + "1.reparam_conv", {width, width, 1, 1});
    }
    const bool attends = stage >= 3;
    if (attends) add(next() + "reparam_conv", {width, 1, 7, 7});
    const std::string blocks = next();
    for (int64_t block = 0; block < kFastVitBlocks[stage]; ++block) {
      const std::string name = fmt::format("{}{}.", blocks, block);
      add_feed_forward(name + "convffn.", width);
      if (attends) {
        add(name + "norm", {width});
        add(name + "token_mixer.qkv", {3 * width, width}, false);
        add(name + "token_mixer.proj", {width, width});
        tensors[name + "layer_scale_1"] = tensors[name + "layer_scale_2"] = {width, 1, 1};
      } else {
        add(name + "token_mixer.reparam_conv", {width, 1, 3, 3});
        tensors[name + "layer_scale"] = {width, 1, 1};
      }
    }
  }
  add(base + "conv_exp.reparam_conv", {kFastVitFeatures, 1, 3, 3});
  add(base + "conv_exp.se.reduce", {kFastVitFeatures / 16, kFastVitFeatures, 1, 1});
  add(base + "conv_exp.se.expand", {kFastVitFeatures, kFastVitFeatures / 16, 1, 1});
  add("model.mm_projector.0", {kFastVitWidth, kFastVitFeatures});
  add("model.mm_projector.2", {kFastVitWidth, kFastVitWidth});
  return tensors;
}

TEST(FastVitHd, FollowsItsDefinition) {
  const TempDir folder;
  const image::ImageInputs inputs =
      vision_reference::random_pixels({1, 3, kFastVitSide, kFastVitSide});
  write_file(folder / "config.json", kFastVitConfig);
  models::write_checkpoint(folder.path(), tower_tensors());
  vision_reference::redraw(folder.path());
  const TableSource tensors(folder.path());
  vision_reference::expect_rows(folder.path(), inputs,
                                {fastvlm_rows(tensors, inputs.pixel_values.values.data())}, 1e-4);
}

// A tower as a package, which gives some of the pixels.
void write_some_pixels(const fs::path& path, int64_t side) {
  constexpr auto kOpset = mil::Opset::CoreML6;
  models::FunctionRecorder recorder("main", kOpset);
  const array::Array images = recorder.input("images", mil::DataType::Float32, {1, 3, side, side});
  const array::Array part =
      array::slice_axis(array::slice_axis(array::slice_axis(images, 1, 0, 1), 2, 0, 16), 3, 0, 32);
  recorder.output("image_features",
                  array::reshape(part * 0.5, {1, kFastVitRows, kFastVitFeatures}));
  mil::Model model = models::empty_model({}, "tower", kOpset);
  recorder.add_to(model);
  mil::write_package(model, path);
}

class FastVlmPackages : public testing::Test {
 protected:
  void write_folder(bool with_weights) {
    models::write_random_model(folder_.path(), kFastVitConfig, [&](const fs::path& path) {
      models::build(path, {.rows = true});
      if (!with_weights) models::FastVlm(path, path / "fastvithd.mlpackage").build();
    });
    if (with_weights) {
      models::Tensors tensors = tower_tensors();
      const auto language = SafetensorsFile::open(folder_ / "model.safetensors");
      for (const TensorInfo& one : language->tensors()) tensors[one.name] = one.shape;
      models::write_checkpoint(folder_.path(), tensors);
    }
    write_file(folder_ / "preprocessor_config.json", kFastVitProcessor);
    testing_models::write_word_tokenizer(folder_.path(), 40, {{"<image>", 30}});
  }
  static runtime::LoadedModel open(const fs::path& path) {
    app::ModelChoice choice;
    choice.path = path.string();
    choice.load.threads = 1;
    return app::open_model(choice);
  }
  std::vector<float> rows_of(const fs::path& path) const {
    const auto model = open(path);
    if (model.images == nullptr) return {};
    const auto rows = model.images->rows({as_byte_span(bytes_), "a.ppm"});
    return rows.size() == 1 ? rows.front()->values : std::vector<float>();
  }
  // The rows of the packages, which are those of the folder.
  void expect_converted() const {
    EXPECT_EQ(app::convert(folder_.path(), out_ / "made").packages, 2);
    const std::vector<float> found = rows_of(out_ / "made"), expected = rows_of(folder_.path());
    ASSERT_EQ(expected.size(), static_cast<size_t>(kFastVitRows * kFastVitWidth));
    ASSERT_EQ(found.size(), expected.size());
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.01 * largest);
  }

  static std::string picture() {
    std::string file = "P6\n150 140\n255\n";
    for (int i = 0; i < 150 * 140 * 3; ++i) file += static_cast<char>((i * 5 + i / 450) % 251);
    return file;
  }

  TempDir folder_, out_;
  std::string bytes_ = picture();
};

TEST_F(FastVlmPackages, ComeOfWeights) {
  write_folder(true);
  expect_converted();
}

TEST_F(FastVlmPackages, ComeOfThePackageOfTheTower) {
  write_some_pixels(folder_ / "fastvithd.mlpackage", kFastVitSide);
  write_folder(false);
  expect_converted();
  fs::remove_all(folder_ / "fastvithd.mlpackage");
  // Without the tower: texts alone.
  EXPECT_EQ(open(folder_.path()).images, nullptr);
  EXPECT_EQ(app::convert(folder_.path(), out_ / "texts.mlpackage").packages, 1);
  write_some_pixels(folder_ / "fastvithd.mlpackage", 64);
  EXPECT_ERROR(app::convert(folder_.path(), out_ / "other"), ErrorCode::InvalidArgument,
               "takes (1, 3, 64, 64), images become (1, 3, 128, 128)");
}

}  // namespace
}  // namespace pippin
