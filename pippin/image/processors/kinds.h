// The table of image processors. A new kind is a function that reads its configuration, and a row.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/image/processors/image_kind.h"

namespace pippin::image {

std::shared_ptr<ImageKind> read_aria(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_cohere2_vision(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_convnext(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_deepseek_ocr(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_detr(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_dinov3(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_donut(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_dpt(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_ernie_vl(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_fuyu(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_gemma3(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_gemma4(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_glm4v(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_got_ocr2(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_idefics2(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_idefics3(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_lfm2_vl(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_llama4(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_llava_next(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_llava_onevision(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_mask2former(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_minicpm_v(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_mllama(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_ovis2(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_paddleocr_vl(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_perception_lm(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_phi4(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_pixtral(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_plain(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_qwen2_vl(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_qwen2_video(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_qwen3_video(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_sam(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_smolvlm_video(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_step3p7(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_superpoint(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_textnet(ProcessorConfig& config);
std::shared_ptr<ImageKind> read_video_llama(ProcessorConfig& config);

struct ImageKindRow {
  std::string_view type;
  ReadImageKind read;
};
inline constexpr ImageKindRow kImageKinds[] = {
    {"AriaImageProcessor", read_aria},
    {"BeitImageProcessor", read_plain},
    {"BitImageProcessor", read_plain},
    {"CLIPImageProcessor", read_plain},
    {"Cohere2VisionImageProcessor", read_cohere2_vision},
    {"ConvNextImageProcessor", read_convnext},
    {"DINOv3ViTImageProcessor", read_dinov3},
    {"DPTImageProcessor", read_dpt},
    {"DeepseekOcr2ImageProcessor", read_deepseek_ocr},
    {"DetrImageProcessor", read_detr},
    {"DonutImageProcessor", read_donut},
    {"Ernie4_5_VLMoeImageProcessor", read_ernie_vl},
    {"FuyuImageProcessor", read_fuyu},
    {"Gemma3ImageProcessor", read_gemma3},
    {"Gemma4ImageProcessor", read_gemma4},
    {"Glm46VImageProcessor", read_glm4v},
    {"Glm4vImageProcessor", read_glm4v},
    {"GotOcr2ImageProcessor", read_got_ocr2},
    {"Idefics2ImageProcessor", read_idefics2},
    {"Idefics3ImageProcessor", read_idefics3},
    {"Lfm2VlImageProcessor", read_lfm2_vl},
    {"Llama4ImageProcessor", read_llama4},
    {"LlavaNextImageProcessor", read_llava_next},
    {"LlavaOnevisionImageProcessor", read_llava_onevision},
    {"Mask2FormerImageProcessor", read_mask2former},
    {"MiniCPMV4_6ImageProcessor", read_minicpm_v},
    {"MllamaImageProcessor", read_mllama},
    {"MobileNetV2ImageProcessor", read_plain},
    {"NougatImageProcessor", read_donut},
    {"Ovis2ImageProcessor", read_ovis2},
    {"OwlViTImageProcessor", read_plain},
    {"PaddleOCRVLImageProcessor", read_paddleocr_vl},
    {"PerceptionLMImageProcessor", read_perception_lm},
    {"Phi4MultimodalImageProcessor", read_phi4},
    {"PixtralImageProcessor", read_pixtral},
    {"Qwen2VLImageProcessor", read_qwen2_vl},
    {"SamImageProcessor", read_sam},
    {"SegformerImageProcessor", read_plain},
    {"SiglipImageProcessor", read_plain},
    {"SmolVLMImageProcessor", read_idefics3},
    {"Step3p7ImageProcessor", read_step3p7},
    {"SuperPointImageProcessor", read_superpoint},
    {"TextNetImageProcessor", read_textnet},
    {"VideoLlama3ImageProcessor", read_video_llama},
    {"ViTImageProcessor", read_plain},
};

// Of processors of videos, and of images for models whose files have no others.
inline constexpr ImageKindRow kVideoKinds[] = {
    {"Qwen2VLImageProcessor", read_qwen2_video},   {"Qwen2VLVideoProcessor", read_qwen2_video},
    {"Qwen3VLVideoProcessor", read_qwen3_video},   {"SmolVLMImageProcessor", read_smolvlm_video},
    {"SmolVLMVideoProcessor", read_smolvlm_video},
};

}  // namespace pippin::image
