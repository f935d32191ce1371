#include "pippin/models/vision/vision_description.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::models::vision {
namespace {

struct VisionArchitecture {
  std::string_view model_type;
  VisionDescription (*describe)(const Config& config);
  bool of_images_alone = false;  // one row for an image
};

constexpr VisionArchitecture kVisionArchitectures[] = {
    {"aimv2", aimv2, true},
    {"aimv2_vision_model", aimv2_vision_model, true},
    {"aya_vision", aya_vision},
    {"beit", beit, true},
    {"clip", clip, true},
    {"cohere2_vision", cohere2_vision},
    {"convnext", convnext, true},
    {"deepseek_ocr2", deepseek_ocr2},
    {"depth_anything", depth_anything, true},
    {"dinov2", dinov2, true},
    {"dinov2_with_registers", dinov2_with_registers, true},
    {"dinov3_convnext", dinov3_convnext, true},
    {"gemma3", gemma3},
    {"gemma4", gemma4_vision},
    {"glm4v", glm4v_vision},
    {"glm4v_moe", glm4v_vision},
    {"got_ocr2", got_ocr2},
    {"idefics2", idefics2},
    {"idefics3", idefics3},
    {"internvl", internvl},
    {"lfm2-vl", lfm2_vl},
    {"lfm2_vl", lfm2_vl},
    {"llama4", llama4_vision},
    {"llava", llava},
    {"llava_next", llava_next},
    {"llava_onevision", llava_onevision},
    {"llava_qwen2", llava_qwen2_vision},
    {"metaclip_2", clip, true},
    {"minicpmv4_6", minicpmv4_6},
    {"mistral3", mistral3_vision},
    {"mobilenet_v2", mobilenet_v2, true},
    {"ovis2", ovis2},
    {"paddleocr_vl", paddleocr_vl},
    {"paligemma", paligemma},
    {"qwen2_5_vl", qwen2_5_vl},
    {"qwen2_vl", qwen2_vl},
    {"qwen3_5", qwen3_5_vision},
    {"qwen3_5_moe", qwen3_5_vision},
    {"qwen3_omni_moe", qwen3_omni},
    {"qwen3_omni_moe_thinker", qwen3_omni},
    {"qwen3_vl", qwen3_vl},
    {"qwen3_vl_moe", qwen3_vl},
    {"segformer", segformer, true},
    {"siglip", siglip, true},
    {"siglip2", siglip2, true},
    {"smolvlm", idefics3},
    {"vit", vit, true},
};

const VisionArchitecture* find_vision(std::string_view type) {
  const auto* const found =
      std::find_if(std::begin(kVisionArchitectures), std::end(kVisionArchitectures),
                   [&](const VisionArchitecture& known) { return known.model_type == type; });
  return found == std::end(kVisionArchitectures) ? nullptr : found;
}

}  // namespace

bool is_vision_type(std::string_view model_type) {
  return find_vision(model_type) != nullptr;
}

bool is_image_encoder_type(std::string_view model_type) {
  const VisionArchitecture* const known = find_vision(model_type);
  return known != nullptr && known->of_images_alone;
}

VisionDescription describe_vision(const Config& config) {
  const std::string type = config.text("model_type", "");
  const VisionArchitecture* const known = find_vision(type);
  if (known == nullptr) {
    std::vector<std::string_view> types;
    types.reserve(std::size(kVisionArchitectures));
    for (const VisionArchitecture& one : kVisionArchitectures) types.push_back(one.model_type);
    config.unsupported("model_type", fmt::format("'{}' is not supported for images (known: {})",
                                                 type, fmt::join(types, ", ")));
  }
  return known->describe(config);
}

}  // namespace pippin::models::vision
