// Descriptions of vision towers, read from configurations of vision-language models: one function
// for each architecture, in the file of its name; vision_description.cpp selects it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/models/config/config.h"
#include "pippin/models/vision/vision_result.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

// A tower with its projector.
struct VisionDescription {
  VisionResult result = VisionResult::Rows;
  VisionLabels labels;                                          // of Scores
  double most_scale = std::numeric_limits<double>::infinity();  // PairScale::factor, from 1 on
  // The passes that compute an image, and the rows of their results. Throws InvalidArgument,
  // naming the sizes, for inputs that are not those of this model's processor.
  std::function<image::VisionPasses(const image::ImageInputs& inputs)> passes;
  // Records one pass: from pixel values of shape.pixels to (batch, rows, width), all rows of the
  // pass one after another.
  std::function<array::Array(const nn::Parameters& parameters, const array::Array& pixels,
                             const image::VisionShape& shape)>
      record;
  // Beginnings of the names of tensors that the recorded tower does not need, besides those of the
  // language model.
  std::vector<std::string> unused;
};

bool is_vision_type(std::string_view model_type);
// Whether such a model gives one row or a map for an image, not rows of a prompt.
bool is_image_encoder_type(std::string_view model_type);
// From the whole configuration. Throws Unsupported for an unknown model_type or tower.
VisionDescription describe_vision(const Config& config);

VisionDescription aimv2(const Config& config);
VisionDescription aimv2_vision_model(const Config& config);  // aimv2.cpp
VisionDescription aya_vision(const Config& config);          // cohere2_vision.cpp
VisionDescription beit(const Config& config);
VisionDescription clip(const Config& config);  // MetaCLIP 2 too
VisionDescription cohere2_vision(const Config& config);
VisionDescription convnext(const Config& config);
VisionDescription deepseek_ocr2(const Config& config);
VisionDescription depth_anything(const Config& config);
VisionDescription dinov2(const Config& config);
VisionDescription dinov2_with_registers(const Config& config);
VisionDescription dinov3_convnext(const Config& config);  // convnext.cpp
VisionDescription gemma3(const Config& config);
VisionDescription gemma4_vision(const Config& config);
VisionDescription glm4v_vision(const Config& config);
VisionDescription got_ocr2(const Config& config);
VisionDescription idefics2(const Config& config);
VisionDescription idefics3(const Config& config);  // SmolVLM too
VisionDescription internvl(const Config& config);
VisionDescription lfm2_vl(const Config& config);
VisionDescription llama4_vision(const Config& config);
VisionDescription llava(const Config& config);
VisionDescription llava_next(const Config& config);
VisionDescription llava_onevision(const Config& config);     // llava_next.cpp
VisionDescription llava_qwen2_vision(const Config& config);  // fastvithd.cpp
VisionDescription minicpmv4_6(const Config& config);
VisionDescription mistral3_vision(const Config& config);  // pixtral.cpp
VisionDescription mobilenet_v2(const Config& config);
VisionDescription ovis2(const Config& config);
VisionDescription paddleocr_vl(const Config& config);
VisionDescription paligemma(const Config& config);   // gemma3.cpp
VisionDescription pixtral(const Config& config);     // in LLaVA's form
VisionDescription qwen2_5_vl(const Config& config);  // qwen2_vl.cpp
VisionDescription qwen2_vl(const Config& config);
VisionDescription qwen3_5_vision(const Config& config);  // qwen3_vl.cpp
VisionDescription qwen3_omni(const Config& config);      // qwen3_vl.cpp
VisionDescription qwen3_vl(const Config& config);
VisionDescription segformer(const Config& config);
VisionDescription siglip(const Config& config);   // clip.cpp
VisionDescription siglip2(const Config& config);  // clip.cpp: images of any size
VisionDescription vit(const Config& config);      // dinov2.cpp

}  // namespace pippin::models::vision
