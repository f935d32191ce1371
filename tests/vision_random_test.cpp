// Vision towers with random weights: plans compute what the value rules of the operations give, and
// so do packages.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/vision.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin {
namespace {

struct RandomTower {
  const char* name;
  std::string config;
  std::vector<int64_t> pixels;
  std::map<std::string, std::vector<int64_t>> sizes;
  std::vector<int64_t> runs;  // rows of each
};

std::string with_tower(const char* type, const char* tower, const std::string& more,
                       const std::string& tower_more = "") {
  return fmt::format(
      R"({{"model_type": "{}", "text_config": {{"hidden_size": 6}}, {} "vision_config":
         {{"model_type": "{}", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
           "intermediate_size": 12, {} "image_size": 8, "patch_size": 2}}}})",
      type, more, tower, tower_more);
}

std::string encoder_alone(const char* type, const char* more) {
  return fmt::format(
      R"({{"model_type": "{}", {} "hidden_size": 6, "num_attention_heads": 2,
           "num_hidden_layers": 2, "image_size": 8, "patch_size": 2}})",
      type, more);
}

std::vector<RandomTower> random_towers() {
  const std::string siglip_alone =
      R"({"model_type": "siglip", "vision_config": {"hidden_size": 6, "num_attention_heads": 2,
          "num_hidden_layers": 2, "intermediate_size": 12, "image_size": 8, "patch_size": 2}})";
  constexpr const char* kClip = "clip_vision_model";
  constexpr const char* kSiglip = "siglip_vision_model";
  const std::string sam =
      R"("hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "image_size": 8,
         "patch_size": 2, "mlp_dim": 12, "output_channels": 5, "window_size": 3,
         "global_attn_indexes": [1])";
  const std::string pinpoints = R"("image_grid_pinpoints": [[8, 16], [16, 8], [16, 16]], )";
  return {
      {"idefics3",
       with_tower("idefics3", "idefics3", "\"scale_factor\": 2,"),
       {1, 3, 3, 8, 8},
       {},
       {4, 4, 4}},
      {"idefics3_small_tiles",
       with_tower("smolvlm", "smolvlm_vision", "\"scale_factor\": 1,"),
       {1, 2, 3, 6, 6},
       {},
       {9, 9}},
      {"llava", with_tower("llava", kClip, ""), {1, 3, 8, 8}, {}, {16}},
      {"llava_siglip",
       with_tower("llava", kSiglip, R"("vision_feature_layer": 1,
                  "vision_feature_select_strategy": "full", "multimodal_projector_bias": false, )"),
       {1, 3, 8, 8},
       {},
       {16}},
      {"llava_next",
       with_tower("llava_next", kClip, pinpoints),
       {1, 5, 3, 8, 8},
       {{"image_sizes", {30, 16}}},
       {16 + 8 * 5}},
      {"llava_next_one",
       with_tower("llava_next", kClip, pinpoints),
       {1, 1, 3, 8, 8},
       {{"image_sizes", {8, 8}}},
       {17}},
      {"llava_onevision_resized",
       with_tower("llava_onevision", kSiglip,
                  pinpoints + R"("vision_aspect_ratio": "anyres_max_1",)"),
       {1, 5, 3, 8, 8},
       {{"image_sizes", {16, 16}}},
       {16 + 4 * 5}},
      {"gemma3",
       with_tower("gemma3", kSiglip, "\"mm_tokens_per_image\": 4,"),
       {2, 3, 8, 8},
       {},
       {4, 4}},
      {"paligemma", with_tower("paligemma", kSiglip, ""), {1, 3, 8, 8}, {}, {16}},
      {"clip", with_tower("clip", kClip, "\"projection_dim\": 6,"), {2, 3, 8, 8}, {}, {1, 1}},
      {"aimv2",
       encoder_alone("aimv2_vision_model", R"("intermediate_size": 12, )"),
       {2, 3, 8, 8},
       {},
       {1, 1}},
      {"siglip", siglip_alone, {2, 3, 8, 8}, {}, {1, 1}},
      {"dinov2_registers",
       encoder_alone("dinov2_with_registers", R"("num_register_tokens": 3, "mlp_ratio": 2, )"),
       {2, 3, 6, 10},
       {},
       {1, 1}},
      {"vit",
       encoder_alone("vit", R"("intermediate_size": 12,
              "architectures": ["ViTForImageClassification"], "num_labels": 6, )"),
       {1, 3, 8, 8},
       {},
       {1}},
      {"beit",
       encoder_alone("beit", R"("intermediate_size": 12, "use_relative_position_bias": true,
              "architectures": ["BeitForImageClassification"], "num_labels": 6, )"),
       {2, 3, 8, 8},
       {},
       {1, 1}},
      {"convnext",
       R"({"model_type": "convnext", "depths": [1, 2], "hidden_sizes": [4, 6], "patch_size": 2,
           "architectures": ["ConvNextForImageClassification"], "num_labels": 6})",
       {1, 3, 9, 12},
       {},
       {1}},
      {"dinov3_convnext",
       R"({"model_type": "dinov3_convnext", "depths": [1, 1], "hidden_sizes": [4, 6]})",
       {2, 3, 8, 16},
       {},
       {1, 1}},
      {"mobilenet_v2",
       R"({"model_type": "mobilenet_v2", "depth_multiplier": 0.1, "finegrained_output": false,
           "tf_padding": false, "num_labels": 6,
           "architectures": ["MobileNetV2ForImageClassification"]})",
       {1, 3, 17, 20},
       {},
       {1}},
      {"internvl",
       with_tower("internvl", "internvl_vision", "", R"("norm_type": "rms_norm",
                  "use_qk_norm": true, "use_mean_pooling": false, )"),
       {3, 3, 8, 8},
       {},
       {4, 4, 4}},
      {"aya_vision", with_tower("aya_vision", kSiglip, ""), {2, 3, 8, 8}, {}, {4, 4}},
      {"cohere2_vision",
       with_tower("cohere2_vision", kSiglip, "\"alignment_intermediate_size\": 10,"),
       {2, 3, 8, 8},
       {},
       {4, 4}},
      {"ovis2",
       with_tower("ovis2", "", "\"hidden_size\": 6,",
                  R"("vocab_size": 20, "hidden_stride": 2, "qkv_bias": true, )"),
       {2, 3, 8, 8},
       {},
       {4, 4}},
      {"got_ocr2",
       fmt::format(R"({{"model_type": "got_ocr2", "text_config": {{"hidden_size": 6}},
                        "vision_config": {{{}}}}})",
                   sam),
       {1, 3, 8, 8},
       {},
       {1}},
      // The positions and distances of a larger grid.
      {"got_ocr2_larger",
       fmt::format(R"({{"model_type": "got_ocr2", "text_config": {{"hidden_size": 6}},
                        "vision_config": {{{}}}}})",
                   sam),
       {1, 3, 14, 10},
       {},
       {4}},
      {"deepseek_ocr2",
       fmt::format(R"({{"model_type": "deepseek_ocr2", "text_config": {{"hidden_size": 6}},
                        "vision_config": {{"sam_config": {{{}, "downsample_channels": [7, 8]}},
                        "encoder_config": {{"hidden_size": 8, "num_attention_heads": 2,
                          "num_key_value_heads": 1, "num_hidden_layers": 1,
                          "intermediate_size": 12}}}}}})",
                   sam),
       {1, 3, 8, 8},
       {},
       {145}},
  };
}

// Towers for images of any size.
std::vector<RandomTower> random_sized_towers() {
  const auto qwen = [](const char* type, const std::string& vision) {
    return fmt::format(R"({{"model_type": "{}", "vision_config": {{"num_heads": 2, "patch_size": 2,
                            {}}}}})",
                       type, vision);
  };
  const std::string sizes = R"("hidden_size": 8, "intermediate_size": 12, )";
  const std::string pixtral = R"("head_dim": 4, "hidden_act": "silu", )";
  const std::string gemma4 =
      R"({"model_type": "gemma4", "text_config": {"hidden_size": 6}, "vision_config": {
          "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
          "num_key_value_heads": 1, "head_dim": 4, "num_hidden_layers": 2, "patch_size": 2,
          "position_embedding_size": 8, "pooling_kernel_size": 2, )";
  const std::vector<int64_t> places = {0, 0, 1, 0, 2, 0, 3,  0,  0,  1,
                                       1, 1, 2, 1, 3, 1, -1, -1, -1, -1};
  return {
      {"qwen2_vl",
       qwen("qwen2_vl", R"("embed_dim": 8, "hidden_size": 6, "depth": 2, "mlp_ratio": 2)"),
       {48, 24},
       {{"image_grid_thw", {2, 4, 6}}},
       {12}},
      // Windows of all four kinds, and of two frames.
      {"qwen2_5_vl",
       qwen("qwen2_5_vl", sizes + R"("out_hidden_size": 6, "depth": 4, "window_size": 8,
                                     "fullatt_block_indexes": [2])"),
       {120, 24},
       {{"image_grid_thw", {2, 6, 10}}},
       {30}},
      {"qwen2_5_vl_one_window",
       qwen("qwen2_5_vl", sizes + R"("out_hidden_size": 6, "depth": 2, "window_size": 16,
                                     "fullatt_block_indexes": [1])"),
       {24, 24},
       {{"image_grid_thw", {1, 6, 4}}},
       {6}},
      // The rows of the language model and those of two of its layers.
      {"qwen3_vl",
       qwen("qwen3_vl", sizes + R"("out_hidden_size": 2, "depth": 3, "num_position_embeddings": 9,
                                   "deepstack_visual_indexes": [2, 0])"),
       {24, 24},
       {{"image_grid_thw", {1, 4, 6}}},
       {6}},
      {"qwen3_omni",
       R"({"model_type": "qwen3_omni_moe", "thinker_config": {"vision_config": {
           "hidden_size": 8, "intermediate_size": 12, "num_heads": 2, "patch_size": 2, "depth": 2,
           "out_hidden_size": 3, "num_position_embeddings": 9,
           "deepstack_visual_indexes": [0]}}})",
       {24, 24},
       {{"image_grid_thw", {1, 4, 6}}},
       {6}},
      {"qwen3_5",
       qwen("qwen3_5", sizes + R"("out_hidden_size": 6, "depth": 2, "num_position_embeddings": 9)"),
       {24, 24},
       {{"image_grid_thw", {1, 6, 4}}},
       {6}},
      {"glm4v",
       qwen("glm4v", sizes + R"("out_hidden_size": 6, "depth": 2, "image_size": 8)"),
       {24, 24},
       {{"image_grid_thw", {1, 4, 6}}},
       {6}},
      {"paddleocr_vl",
       with_tower("paddleocr_vl", "paddleocr_vl_vision", ""),
       {24, 3, 2, 2},
       {{"image_grid_thw", {1, 4, 6}}},
       {6}},
      // A run for each row, without the padding of a batch.
      {"pixtral",
       with_tower("llava", "pixtral",
                  R"("vision_feature_layer": -1, "vision_feature_select_strategy": "full",)",
                  pixtral),
       {1, 3, 8, 10},
       {{"image_sizes", {6, 8}}},
       {4, 4, 4}},
      {"mistral3",
       with_tower("mistral3", "pixtral", "", pixtral),
       {1, 3, 12, 8},
       {{"image_sizes", {12, 8}}},
       {2, 2, 2}},
      {"lfm2_vl",
       with_tower("lfm2_vl", "siglip2_vision_model", "\"projector_hidden_size\": 10,",
                  "\"num_patches\": 9,"),
       {2, 12, 12},
       {{"spatial_shapes", {2, 6, 4, 2}}},
       {3, 2}},
      {"gemma4",
       gemma4 + "\"standardize\": true}}",
       {1, 10, 12},
       {{"image_position_ids", places}},
       {2}},
      {"gemma4_clipped",
       gemma4 + "\"use_clipped_linears\": true}}",
       {1, 10, 12},
       {{"image_position_ids", places}},
       {2}},
      {"minicpmv4_6",
       with_tower("minicpmv4_6", "minicpmv4_6_vision", "\"insert_layer_id\": 0,"),
       {1, 3, 2, 160},
       {{"target_sizes", {4, 4, 4, 8, 4, 8}}},
       {1, 2, 2}},
      // Merged at the end alone, twice there.
      {"minicpmv4_6_4x",
       with_tower("minicpmv4_6", "minicpmv4_6_vision",
                  "\"downsample_mode\": \"4x\", \"merger_times\": 2,"),
       {1, 3, 2, 96},
       {{"target_sizes", {4, 4, 4, 8}}},
       {1, 2}},
  };
}

image::ImageInputs inputs_for(const RandomTower& tower) {
  image::ImageInputs inputs;
  inputs.pixel_values.shape = tower.pixels;
  int64_t numbers = 1;
  for (const int64_t dim : tower.pixels) numbers *= dim;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  inputs.pixel_values.values.resize(static_cast<size_t>(numbers));
  for (float& value : inputs.pixel_values.values) value = normal(random);
  for (const auto& [name, values] : tower.sizes) {
    const int64_t count = std::ssize(values);
    std::vector<int64_t> shape = {1, count};
    if (name == "spatial_shapes" || name == "target_sizes") shape = {count / 2, 2};
    if (name == "image_position_ids") shape = {1, count / 2, 2};
    inputs.sizes[name] = {shape, values};
  }
  return inputs;
}

std::vector<double> run_pass(const mil::Model& model, const image::VisionPass& pass,
                             const image::ImageInputs& inputs, ThreadPool& pool,
                             engine::Precision precision) {
  const auto runner = engine::Runner::make(model, model.default_function, pool,
                                           {.compute = {.precision = precision}});
  engine::HostTensor pixels{mil::DataType::Float32, pass.shape.pixels, {}, {}, {}, {}};
  size_t count = 1;
  for (const int64_t dim : pass.shape.pixels) count *= static_cast<size_t>(dim);
  const auto bytes = std::as_bytes(
      std::span(inputs.pixel_values.values).subspan(static_cast<size_t>(pass.first), count));
  pixels.bytes.assign(bytes.begin(), bytes.end());
  engine::NamedHostTensors named;
  named.emplace(families::vision::kPixels, pixels);
  engine::State state(std::vector<mil::Feature>{});
  return engine::to_tensor(runner->run(named, state).find(families::vision::kRows)->second).values;
}

class RandomTowers : public testing::TestWithParam<RandomTower> {
 protected:
  static void build_all(const std::filesystem::path& folder) {
    const models::VisionModel model(folder);
    for (const auto& pass : model.passes(inputs_for(GetParam())).passes) model.build(pass.shape);
  }
  // The folder of the model, written once.
  static std::filesystem::path folder() {
    static std::map<std::string, TempDir> folders;
    const auto [found, is_new] = folders.try_emplace(GetParam().name);
    if (is_new) {
      models::write_random_model(found->second.path(), GetParam().config, build_all);
    }
    return found->second.path();
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1);
};

TEST_P(RandomTowers, PlansFollowTheValueRules) {
  const image::ImageInputs inputs = inputs_for(GetParam());
  const models::VisionModel model(folder(),
                                  {.compute = models::BuildOptions::Compute::Float32Direct});
  const image::VisionPasses passes = model.passes(inputs);
  std::set<int64_t> widths;
  for (const image::VisionPass& pass : passes.passes) {
    const mil::Model program = model.build(pass.shape);
    mil::verify(program.program);
    const auto fast = run_pass(program, pass, inputs, *pool_, engine::Precision::Exact);
    const auto slow = run_pass(program, pass, inputs, *pool_, engine::Precision::Reference);
    ASSERT_EQ(fast.size(), slow.size());
    for (size_t i = 0; i < fast.size(); ++i) ASSERT_NEAR(fast[i], slow[i], 2e-5) << i;
  }
  const auto rows = app::open_vision_tower(folder(), pool_)->encode(inputs);
  std::vector<int64_t> counts;
  for (const auto& run : rows) {
    counts.push_back(run->count);
    EXPECT_EQ(run->width, 6);
    EXPECT_TRUE(std::all_of(run->values.begin(), run->values.end(),
                            [](float value) { return std::isfinite(value); }));
  }
  EXPECT_EQ(counts, GetParam().runs);
}

TEST_P(RandomTowers, RunAsPackages) {
  const image::ImageInputs inputs = inputs_for(GetParam());
  const image::VisionPass pass = models::VisionModel(folder()).passes(inputs).passes.front();
  const TempDir out;
  mil::write_package(models::build_vision(folder(), pass.shape), out / "x.mlpackage");
  const mil::Model package = mil::read_package(out / "x.mlpackage");
  mil::verify(package.program);
  const mil::Model direct = models::build_vision(
      folder(), pass.shape, {.compute = models::BuildOptions::Compute::Float32Direct});
  const auto narrow = run_pass(package, pass, inputs, *pool_, engine::Precision::Exact);
  const auto wide = run_pass(direct, pass, inputs, *pool_, engine::Precision::Exact);
  ASSERT_EQ(narrow.size(), wide.size());
  double largest = 0;
  for (const double value : wide) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wide.size(); ++i) ASSERT_NEAR(narrow[i], wide[i], 0.01 * largest) << i;
}

// Each of its tiles has the rows that it has as a whole image.
TEST(DeepseekOcr2, TakesTiles) {
  std::vector<RandomTower> all = random_towers();
  const auto found = std::find_if(all.begin(), all.end(), [](const RandomTower& one) {
    return std::string_view(one.name) == "deepseek_ocr2";
  });
  ASSERT_NE(found, all.end());
  const TempDir folder;
  image::ImageInputs inputs = inputs_for(*found);
  models::write_random_model(folder.path(), found->config, [&](const auto& path) {
    const models::VisionModel model(path);
    for (const auto& pass : model.passes(inputs).passes) model.build(pass.shape);
  });
  const auto tower = app::open_vision_tower(folder.path(), std::make_shared<ThreadPool>(1));
  const auto rows_of = [&](const image::ImageInputs& given) {
    return tower->encode(given).at(0)->values;
  };
  const std::vector<float> whole = rows_of(inputs);
  std::vector<float> expected;
  image::FloatArray tiles{{2, 3, 4, 6}, {}};
  for (const float first : {0.5F, -1.0F}) {
    image::ImageInputs tile;
    tile.pixel_values = {{1, 3, 4, 6}, std::vector<float>(72, 0.25F)};
    tile.pixel_values.values[0] = first;
    tiles.values.insert(tiles.values.end(), tile.pixel_values.values.begin(),
                        tile.pixel_values.values.end());
    const std::vector<float> own = rows_of(tile);
    expected.insert(expected.end(), own.begin(), own.end() - 6);  // without the end
  }
  expected.insert(expected.end(), whole.begin(), whole.end());
  inputs.further["pixel_values_local"] = tiles;
  EXPECT_EQ(rows_of(inputs), expected);
}

// Sizes that do not fit the model or the pixels.
class SizedTowers : public RandomTowers {};

TEST_P(SizedTowers, RefuseOtherSizes) {
  const models::VisionModel model(folder());
  const image::ImageInputs given = inputs_for(GetParam());
  const auto refuses = [&](const image::ImageInputs& inputs) {
    try {
      model.passes(inputs);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::InvalidArgument;
    }
  };
  EXPECT_FALSE(refuses(given));
  image::ImageInputs other = given;
  other.sizes.clear();
  EXPECT_TRUE(refuses(other));
  for (const auto& [name, table] : given.sizes) {
    for (size_t i = 0; i < table.values.size(); ++i) {
      for (const int64_t value : {table.values[i] + 1, int64_t{-2}, int64_t{1} << 40}) {
        other = given;
        other.sizes[name].values[i] = value;
        EXPECT_TRUE(refuses(other)) << name << " " << i << ": " << value;
      }
    }
    other = given;
    other.sizes[name].values.pop_back();
    EXPECT_TRUE(refuses(other));
    other = given;
    other.sizes[name].shape.push_back(1);
    EXPECT_TRUE(refuses(other));
  }
  other = given;
  other.pixel_values.values.pop_back();
  EXPECT_TRUE(refuses(other));
  other = given;
  other.pixel_values.shape = {std::ssize(other.pixel_values.values)};
  EXPECT_TRUE(refuses(other));
}

INSTANTIATE_TEST_SUITE_P(RandomSized, SizedTowers, testing::ValuesIn(random_sized_towers()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(RandomSized, RandomTowers, testing::ValuesIn(random_sized_towers()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Random, RandomTowers, testing::ValuesIn(random_towers()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
