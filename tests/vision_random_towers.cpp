#include "tests/vision_random_towers.h"

#include <random>

#include <fmt/format.h>

namespace pippin::vision_towers {
namespace {

std::string with_tower(const char* type, const char* tower, const std::string& more,
                       const std::string& tower_more = "", int64_t intermediate = 12) {
  return fmt::format(
      R"({{"model_type": "{}", "text_config": {{"hidden_size": 6}}, {} "vision_config":
         {{"model_type": "{}", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
           "intermediate_size": {}, {} "image_size": 8, "patch_size": 2}}}})",
      type, more, tower, intermediate, tower_more);
}

std::string encoder_alone(const char* type, const char* more) {
  return fmt::format(
      R"({{"model_type": "{}", {} "hidden_size": 6, "num_attention_heads": 2,
           "num_hidden_layers": 2, "image_size": 8, "patch_size": 2}})",
      type, more);
}

std::string segformer(const char* more) {
  return fmt::format(
      R"({{"model_type": "segformer", {}, "num_labels": 6, "num_encoder_blocks": 3,
           "depths": [1, 2, 1], "hidden_sizes": [4, 6, 8], "sr_ratios": [3, 2, 1],
           "patch_sizes": [7, 3, 3], "strides": [4, 2, 2], "num_attention_heads": [1, 2, 4],
           "mlp_ratios": [2, 3, 2], "decoder_hidden_size": 5, "hidden_act": "relu"}})",
      more);
}

}  // namespace

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
      {"segformer",
       segformer(R"("architectures": ["SegformerForSemanticSegmentation"])"),
       {2, 3, 21, 34},
       {},
       {54, 54}},
      {"segformer_classifier",
       segformer(R"("architectures": ["SegformerForImageClassification"])"),
       {2, 3, 21, 34},
       {},
       {1, 1}},
      // Depths of two layers in reverse order, on three grids.
      {"depth_anything",
       R"({"model_type": "depth_anything", "patch_size": 4, "reassemble_hidden_size": 6,
           "neck_hidden_sizes": [4, 5, 3], "reassemble_factors": [0.5, 2, 1],
           "fusion_hidden_size": 4, "head_hidden_size": 5, "depth_estimation_type": "metric",
           "max_depth": 3, "backbone_config": {"model_type": "dinov2", "hidden_size": 6,
             "num_attention_heads": 2, "num_hidden_layers": 3, "image_size": 8, "patch_size": 4,
             "mlp_ratio": 2, "out_indices": [2, 1, -1], "reshape_hidden_states": false}})",
       {1, 3, 13, 18},
       {},
       {12 * 16},
       1},
      {"llama4",
       with_tower("llama4", "llama4_vision_model", "",
                  R"("projector_input_dim": 10, "projector_output_dim": 10,
                     "vision_output_dim": 10, "rope_parameters": {"rope_theta": 100},)",
                  32),
       {2, 3, 8, 8},
       {},
       {4, 4}},
      {"idefics2",
       R"({"model_type": "idefics2", "text_config": {"hidden_size": 6, "intermediate_size": 10},
           "perceiver_config": {"resampler_n_latents": 3, "resampler_depth": 2,
             "resampler_n_heads": 4, "num_key_value_heads": 1, "resampler_head_dim": 3},
           "vision_config": {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
             "num_hidden_layers": 2, "image_size": 8, "patch_size": 2}})",
       {1, 2, 3, 9, 6},
       {},
       {3, 3}},
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
      {"siglip2",
       R"({"model_type": "siglip2", "vision_config": {"hidden_size": 6, "num_attention_heads": 2,
           "num_hidden_layers": 2, "intermediate_size": 12, "num_patches": 9, "patch_size": 2}})",
       {2, 12, 12},
       {{"spatial_shapes", {2, 6, 4, 3}}},
       {1, 1}},
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

}  // namespace pippin::vision_towers
