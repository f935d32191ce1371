// Inputs and configurations that vision towers refuse.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/models/vision/vision_description.h"

namespace pippin {
namespace {

models::vision::VisionDescription described(const std::string& config) {
  return models::vision::describe_vision(models::Config(Json::parse(config, "config.json")));
}

std::string tower_config(const std::string& type, const std::string& more,
                         const std::string& tower = "siglip_vision_model",
                         const std::string& tower_more = "") {
  return fmt::format(
      R"({{"model_type": "{}", "text_config": {{"hidden_size": 6}}, {} "vision_config":
         {{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
           "intermediate_size": 12, "image_size": 8, "patch_size": 2, {} "model_type": "{}"}}}})",
      type, more, tower_more, tower);
}

void expect_error(ErrorCode code, const std::string& message, const auto& act) {
  try {
    act();
    ADD_FAILURE() << "nothing is thrown: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(VisionConfigurations, AreRefusedByName) {
  struct Case {
    std::string config;
    ErrorCode code;
    std::string message;
  };
  const std::string pinpoints = R"("image_grid_pinpoints": [[8, 12]],
                                    "vision_feature_select_strategy": "full",)";
  const Case cases[] = {
      {R"({"model_type": "llama"})", ErrorCode::Unsupported, "'llama' is not supported"},
      {tower_config("llava", "", "beit"), ErrorCode::Unsupported, "'beit' is not supported"},
      {tower_config("llava", R"("vision_feature_layer": [1, 2],)"), ErrorCode::Unsupported,
       "several layers"},
      {tower_config("llava", R"("vision_feature_layer": -4,)"), ErrorCode::InvalidFile,
       "-4 is not one of 2 layers"},
      {tower_config("llava", R"("vision_feature_select_strategy": "cls",)"), ErrorCode::Unsupported,
       "'cls' is not supported"},
      {tower_config("llava", "", "siglip_vision_model", R"("num_attention_heads": 3,)"),
       ErrorCode::InvalidFile, "num_attention_heads"},
      {tower_config("llava_next", ""), ErrorCode::Unsupported, "15 rows do not form a grid of 4x4"},
      {tower_config("llava_next", pinpoints), ErrorCode::InvalidFile,
       "8x12 pixels are not tiles of 8x8"},
      {tower_config("llava_onevision", R"("vision_aspect_ratio": "square",)"),
       ErrorCode::Unsupported, "'square' is not supported"},
      {tower_config("gemma3", R"("mm_tokens_per_image": 9,)"), ErrorCode::InvalidFile,
       "9 rows cannot be made of 4x4 patches"},
      {tower_config("aya_vision", R"("downsample_factor": 3,)"), ErrorCode::InvalidFile,
       "3 does not divide a grid of 4x4"},
      {tower_config("internvl", R"("downsample_ratio": 0.3,)"), ErrorCode::InvalidFile,
       "is not 1 / N"},
      {tower_config("internvl", "", "internvl_vision", R"("norm_type": "batch_norm",)"),
       ErrorCode::Unsupported, "'batch_norm' is not supported"},
      {tower_config("ovis2", "", "", R"("tokenize_function": "gumbel_argmax",)"),
       ErrorCode::Unsupported, "'gumbel_argmax' is not supported"},
      {tower_config("got_ocr2", "", "", R"("global_attn_indexes": [2],)"), ErrorCode::InvalidFile,
       "2 is not one of 2 layers"},
      {tower_config("idefics3", "", "idefics3", R"("patch_size": [2, 4],)"), ErrorCode::Unsupported,
       "patches that are not squares"},
      {tower_config("llama4", "", "llama4_vision_model"), ErrorCode::InvalidFile,
       "intermediate_size: 12: joined patches have 32 numbers"},
      {tower_config("llama4", "", "llama4_vision_model", R"("pixel_shuffle_ratio": 0.3,)"),
       ErrorCode::InvalidFile, "0.3 is not 1 / N"},
      {tower_config("llama4", "", "llama4_vision_model", R"("image_size": [8, 4],)"),
       ErrorCode::Unsupported, "image_size: images or patches that are not squares"},
      {tower_config("idefics2", R"("perceiver_config": {"resampler_n_heads": 3},)"),
       ErrorCode::InvalidFile, "3 is not a multiple of num_key_value_heads 4"},
      {R"({"model_type": "segformer", "architectures": ["SegformerModel"]})",
       ErrorCode::Unsupported, "'SegformerModel' is not supported"},
      {R"({"model_type": "segformer", "depths": [1, 2]})", ErrorCode::InvalidFile,
       "depths: 2 numbers for 4 stages"},
      {R"({"model_type": "depth_anything", "backbone_config": {"model_type": "swin"}})",
       ErrorCode::Unsupported, "'swin' is not supported"},
      {R"({"model_type": "depth_anything", "reassemble_factors": [4, 2, 1, 0.3]})",
       ErrorCode::InvalidFile, "0.3 is not N or 1 / N"},
      {tower_config("paligemma", "", "siglip_vision_model", R"("image_size": [8, 0],)"),
       ErrorCode::InvalidFile, "image_size"},
      {R"({"model_type": "beit", "use_absolute_position_embeddings": true})",
       ErrorCode::Unsupported, "use_absolute_position_embeddings: true is not supported"},
      {R"({"model_type": "convnext", "depths": [1, 2]})", ErrorCode::InvalidFile,
       "depths: 2 stages, hidden_sizes has 4"},
      {R"({"model_type": "mobilenet_v2", "output_stride": 16})", ErrorCode::Unsupported,
       "output_stride: only 32 is supported"},
      {R"({"model_type": "vit", "architectures": ["ViTForMaskedImageModeling"]})",
       ErrorCode::Unsupported, "'ViTForMaskedImageModeling' is not supported"},
  };
  for (const Case& one : cases) {
    expect_error(one.code, one.message, [&] { described(one.config); });
  }
}

image::ImageInputs filled(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return {{std::move(shape), std::vector<float>(static_cast<size_t>(count))}, {}, {}};
}

TEST(VisionInputs, AreRefusedWithTheirSizes) {
  const auto refused = [](const std::string& type, const std::string& more,
                          const image::ImageInputs& inputs, const std::string& message,
                          ErrorCode code = ErrorCode::InvalidArgument) {
    const auto model = described(tower_config(type, more));
    expect_error(code, message, [&] { model.passes(inputs); });
  };
  refused("llava", "", filled({1, 3, 8, 10}), "(1, 3, 8, 10): the model takes tiles of 3 channels");
  refused("llava", "", filled({3, 8, 8}), "(3, 8, 8): tiles");
  refused("llava", "", filled({2, 1, 3, 8, 8}), "(2, 1, 3, 8, 8): tiles");
  image::ImageInputs inputs = filled({1, 3, 8, 8});
  inputs.pixel_values.values.pop_back();
  refused("llava", "", inputs, "191 numbers, not 192");
  inputs.pixel_values.shape = {1, int64_t{1} << 62, 8, 8};
  refused("llava", "", inputs, "impossible sizes");
  inputs.pixel_values.shape = {0, 3, 8, 8};
  refused("llava", "", inputs, "impossible sizes");
  const std::string pinpoints = R"("image_grid_pinpoints": [[8, 16], [16, 8]],
                                    "vision_feature_select_strategy": "full",)";
  inputs = filled({1, 3, 3, 8, 8});
  refused("llava_next", pinpoints, inputs, "image_sizes: the height and width");
  inputs.sizes["image_sizes"] = {{1, 2}, {0, 9}};
  refused("llava_next", pinpoints, inputs, "image_sizes: 0x9");
  inputs = filled({1, 4, 3, 8, 8});
  inputs.sizes["image_sizes"] = {{1, 2}, {9, 9}};
  refused("llava_next", pinpoints, inputs, "4 tiles of an image of 9x9 pixels, which has 3");
  inputs = filled({1, 1, 3, 8, 8});
  inputs.sizes["pixel_attention_mask"] = {{1, 1, 1, 2}, {1, 0}};
  refused("idefics3", "", inputs, "tiles with padding", ErrorCode::Unsupported);
  refused("idefics3", "", filled({1, 1, 3, 6, 6}), "3 channels and 6x6 pixels");
  const char* const resampler = R"("perceiver_config": {"resampler_n_heads": 4},)";
  inputs = filled({1, 1, 3, 4, 4});
  inputs.sizes["pixel_attention_mask"] = {{1, 1, 4, 4}, std::vector<int64_t>(16, 1)};
  inputs.sizes["pixel_attention_mask"].values[5] = 0;
  refused("idefics2", resampler, inputs, "which start at the upper left, is expected");
  inputs.sizes["pixel_attention_mask"] = {{1, 1, 4, 4}, std::vector<int64_t>(16, 0)};
  refused("idefics2", resampler, inputs, "an image of 0x0 pixels is smaller than a patch of 2x2");
}

}  // namespace
}  // namespace pippin
