// Vision towers of which no output of another library is stored, computed a second time.
#include "tests/vision_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/open_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/word_tokenizer.h"

namespace pippin {
namespace {

using vision_reference::attended;
using vision_reference::exact_gelu;
using vision_reference::expect_rows;
using vision_reference::linear;
using vision_reference::mapped;
using vision_reference::normed;
using vision_reference::patches_of;
using vision_reference::random_pixels;
using vision_reference::silu;
using vision_reference::sum;
using vision_reference::Table;
using vision_reference::TableSource;
using vision_reference::tanh_gelu;
using vision_reference::write_model;

// Pairs of neighbouring numbers of each head, rotated by column + 1 in its first half and by row +
// 1 in its second; not those of the last row.
Table turned(Table x, int64_t side, int64_t size, double theta) {
  for (int64_t place = 0; place + 1 < x.rows; ++place) {
    for (int64_t pair = 0; pair < x.columns / 2; ++pair) {
      const int64_t of_head = pair % (size / 2);
      const bool first = of_head < size / 4;
      const int64_t coordinate = (first ? place % side : place / side) + 1;
      const double share = double(2 * (of_head % (size / 4))) / double(size / 2);
      const double angle = double(coordinate) * std::pow(theta, -share);
      const double a = x.at(place, 2 * pair), b = x.at(place, 2 * pair + 1);
      x.at(place, 2 * pair) = a * std::cos(angle) - b * std::sin(angle);
      x.at(place, 2 * pair + 1) = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return x;
}

Table llama4_tile(const TableSource& tensors, const float* pixels) {
  constexpr int64_t kSide = 4, kHeads = 2, kSize = 8, kLayers = 2;
  const std::string base = "vision_model.";
  const Table patches =
      linear(tensors, base + "patch_embedding.linear", patches_of(pixels, 8, 8, kSide, kSide, 2));
  const Table token = tensors.get(base + "class_embedding");
  Table x(patches.rows + 1, patches.columns);
  std::copy(patches.values.begin(), patches.values.end(), x.values.begin());
  std::copy(token.values.begin(), token.values.end(), x.values.end() - x.columns);
  x = sum(std::move(x), tensors.get(base + "positional_embedding_vlm"));
  x = normed(tensors, base + "layernorm_pre", x, 1e-5);
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string layer = base + "model.layers." + std::to_string(i) + ".";
    const Table n = normed(tensors, layer + "input_layernorm", x, 1e-5);
    const auto projected = [&](const char* name) {
      return linear(tensors, layer + "self_attn." + name, n);
    };
    const Table seen = attended(turned(projected("q_proj"), kSide, kSize, 100),
                                turned(projected("k_proj"), kSide, kSize, 100), projected("v_proj"),
                                kHeads, kSize);
    x = sum(std::move(x), linear(tensors, layer + "self_attn.o_proj", seen));
    const Table m = normed(tensors, layer + "post_attention_layernorm", x, 1e-5);
    x = sum(std::move(x), linear(tensors, layer + "mlp.fc2",
                                 mapped(linear(tensors, layer + "mlp.fc1", m), exact_gelu)));
  }
  x = normed(tensors, base + "layernorm_post", x, 1e-5);
  Table joined(kSide * kSide / 4, 4 * x.columns);
  for (int64_t place = 0; place < kSide * kSide; ++place) {
    const int64_t row = place / kSide, column = place % kSide;
    const int64_t block = row / 2 * (kSide / 2) + column / 2, part = row % 2 * 2 + column % 2;
    for (int64_t k = 0; k < x.columns; ++k) joined.at(block, part * x.columns + k) = x.at(place, k);
  }
  const std::string adapter = base + "vision_adapter.mlp.";
  joined = mapped(linear(tensors, adapter + "fc1", joined), exact_gelu);
  joined = mapped(linear(tensors, adapter + "fc2", joined), exact_gelu);
  return linear(tensors, "multi_modal_projector.linear_1", joined);
}

TEST(VisionReference, Llama4) {
  const TempDir folder;
  const image::ImageInputs inputs = random_pixels({2, 3, 8, 8});
  write_model(folder.path(), R"({"model_type": "llama4", "text_config": {"hidden_size": 6},
      "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 16,
        "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2, "image_size": 8,
        "patch_size": 2, "projector_input_dim": 10, "projector_output_dim": 10,
        "vision_output_dim": 10, "rope_theta": 100}})",
              inputs);
  const TableSource tensors(folder.path());
  const float* const pixels = inputs.pixel_values.values.data();
  expect_rows(folder.path(), inputs,
              {llama4_tile(tensors, pixels), llama4_tile(tensors, pixels + 3 * 8 * 8)});
}

// A patch's row of the table of positions: the last one that is not beyond its share of the axis.
int64_t position_of(int64_t place, int64_t count, int64_t table) {
  int64_t position = 0;
  while (position + 1 < table && (position + 1) * count <= place * table) ++position;
  return position;
}

Table idefics2_part(const TableSource& tensors, const float* pixels, int64_t rows,
                    int64_t columns) {
  constexpr int64_t kTable = 4, kHeads = 2, kSize = 4, kLayers = 2;
  const std::string base = "model.vision_model.";
  Table x = linear(tensors, base + "embeddings.patch_embedding",
                   patches_of(pixels, 9, 6, rows, columns, 2));
  const Table positions = tensors.get(base + "embeddings.position_embedding.weight");
  for (int64_t place = 0; place < x.rows; ++place) {
    const int64_t row = position_of(place / columns, rows, kTable) * kTable +
                        position_of(place % columns, columns, kTable);
    for (int64_t k = 0; k < x.columns; ++k) x.at(place, k) += positions.at(row, k);
  }
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string layer = base + "encoder.layers." + std::to_string(i) + ".";
    const Table n = normed(tensors, layer + "layer_norm1", x, 1e-6);
    const auto projected = [&](const char* name) {
      return linear(tensors, layer + "self_attn." + name, n);
    };
    const Table seen =
        attended(projected("q_proj"), projected("k_proj"), projected("v_proj"), kHeads, kSize);
    x = sum(std::move(x), linear(tensors, layer + "self_attn.out_proj", seen));
    const Table m = normed(tensors, layer + "layer_norm2", x, 1e-6);
    x = sum(std::move(x), linear(tensors, layer + "mlp.fc2",
                                 mapped(linear(tensors, layer + "mlp.fc1", m), tanh_gelu)));
  }
  x = normed(tensors, base + "post_layernorm", x, 1e-6);

  const auto gated = [&](const std::string& name, const Table& input) {
    Table gate = mapped(linear(tensors, name + "gate_proj", input), silu);
    const Table up = linear(tensors, name + "up_proj", input);
    for (size_t i = 0; i < gate.values.size(); ++i) gate.values[i] *= up.values[i];
    return linear(tensors, name + "down_proj", gate);
  };
  const Table context = gated("model.connector.modality_projection.", x);
  const std::string resampler = "model.connector.perceiver_resampler.";
  constexpr double kEpsilon = 1e-3;
  Table latents = tensors.get(resampler + "latents");
  for (int64_t i = 0; i < 2; ++i) {
    const std::string layer = resampler + "layers." + std::to_string(i) + ".";
    const Table own = normed(tensors, layer + "input_latents_norm", latents, kEpsilon);
    const Table other = normed(tensors, layer + "input_context_norm", context, kEpsilon);
    Table all(other.rows + own.rows, own.columns);
    std::copy(other.values.begin(), other.values.end(), all.values.begin());
    std::copy(own.values.begin(), own.values.end(),
              all.values.begin() + other.rows * other.columns);
    const std::string attention = layer + "self_attn.";
    const Table seen = attended(linear(tensors, attention + "q_proj", own),
                                linear(tensors, attention + "k_proj", all),
                                linear(tensors, attention + "v_proj", all), 4, 3);
    latents = sum(std::move(latents), linear(tensors, attention + "o_proj", seen));
    const Table m = normed(tensors, layer + "post_attention_layernorm", latents, kEpsilon);
    latents = sum(std::move(latents), gated(layer + "mlp.", m));
  }
  return normed(tensors, resampler + "norm", latents, kEpsilon);
}

// Two parts of an image, the second with padding, in which a patch is cut.
TEST(VisionReference, Idefics2) {
  const TempDir folder;
  image::ImageInputs inputs = random_pixels({1, 2, 3, 9, 6});
  image::IntArray mask{{1, 2, 9, 6}, std::vector<int64_t>(108, 1)};
  for (int64_t place = 0; place < 54; ++place) {
    if (place / 6 >= 7 || place % 6 >= 5) mask.values[static_cast<size_t>(54 + place)] = 0;
  }
  inputs.sizes["pixel_attention_mask"] = mask;
  write_model(folder.path(), R"({"model_type": "idefics2",
      "text_config": {"hidden_size": 6, "intermediate_size": 10},
      "perceiver_config": {"hidden_size": 6, "rms_norm_eps": 1e-3, "resampler_n_latents": 3,
        "resampler_depth": 2, "resampler_n_heads": 4, "num_key_value_heads": 2,
        "resampler_head_dim": 3},
      "vision_config": {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
        "num_hidden_layers": 2, "image_size": 8, "patch_size": 2}})",
              inputs);
  const TableSource tensors(folder.path());
  const float* const pixels = inputs.pixel_values.values.data();
  expect_rows(
      folder.path(), inputs,
      {idefics2_part(tensors, pixels, 4, 3), idefics2_part(tensors, pixels + 3 * 9 * 6, 3, 2)});
}

// Folders of whole models, whose language models read the rows of a picture of 8 x 8 pixels.
struct WholeModel {
  const char* config;
  const char* processor;  // preprocessor_config.json
  std::map<std::string, int32_t> tokens;
  size_t rows, texts;  // tokens of the prompt
};

void expect_reads_pictures(const WholeModel& whole) {
  const TempDir folder;
  write_file(folder / "preprocessor_config.json", whole.processor);
  models::write_random_model(folder.path(), whole.config, [&](const auto& path) {
    models::build(path, {.rows = true});
    const models::VisionModel model(path);
    Picture gray{8, 8, 3, std::vector<uint8_t>(192, 90)};
    const auto inputs = image::ImageProcessor::open(path).process(gray);
    for (const auto& pass : model.passes(inputs).passes) model.build(pass.shape);
  });
  testing_models::write_word_tokenizer(folder.path(), 40, whole.tokens);
  app::ModelChoice choice;
  choice.path = folder.path().string();
  choice.load.threads = 1;
  const auto model = app::open_model(choice);
  std::string bytes = "P6\n8 8\n255\n";
  for (int i = 0; i < 192; ++i) bytes += static_cast<char>(i * 5 % 251);
  const runtime::ImageFile image{as_byte_span(bytes), "a.ppm"};
  const auto prompt = app::text_prompt(model, "w5 w6", false, {&image, 1});
  EXPECT_EQ(std::count_if(prompt.ids.begin(), prompt.ids.end(), [](int32_t id) { return id < 0; }),
            static_cast<int64_t>(whole.rows));
  EXPECT_EQ(prompt.ids.size(), whole.rows + whole.texts);
}

TEST(VisionReference, LanguageModelsReadTheirRows) {
  expect_reads_pictures(
      {R"({"model_type": "idefics2", "image_token_id": 30,
           "text_config": {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2,
             "num_key_value_heads": 1, "num_hidden_layers": 1, "vocab_size": 40,
             "max_position_embeddings": 64, "sliding_window": null},
           "perceiver_config": {"resampler_n_latents": 3, "resampler_depth": 1,
             "resampler_n_heads": 4, "resampler_head_dim": 3},
           "vision_config": {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
             "num_hidden_layers": 1, "image_size": 8, "patch_size": 2}})",
       R"({"image_processor_type": "Idefics2ImageProcessor", "processor_class": "Idefics2Processor",
           "size": {"shortest_edge": 8, "longest_edge": 16}, "do_image_splitting": true})",
       {{"<image>", 30}, {"<fake_token_around_image>", 31}},
       5 * 3,
       6 + 2});
  expect_reads_pictures(
      {R"({"model_type": "llama4", "image_token_index": 30,
           "text_config": {"model_type": "llama4_text", "hidden_size": 16, "intermediate_size": 24,
             "intermediate_size_mlp": 24, "num_attention_heads": 2, "num_key_value_heads": 1,
             "head_dim": 8, "num_hidden_layers": 2, "num_local_experts": 2, "vocab_size": 40,
             "max_position_embeddings": 64},
           "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 8,
             "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1,
             "image_size": 8, "patch_size": 2, "projector_input_dim": 10,
             "projector_output_dim": 10, "vision_output_dim": 10}})",
       R"({"image_processor_type": "Llama4ImageProcessor", "processor_class": "Llama4Processor",
           "size": {"height": 8, "width": 8}})",
       {{"<|patch|>", 30}, {"<|image|>", 31}, {"<|image_start|>", 32}, {"<|image_end|>", 33}},
       4,
       3 + 2});
}

}  // namespace
}  // namespace pippin
