// The table of image processors. A new kind is a function that reads its configuration, and a row.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/image/processors/image_kind.h"

namespace pippin::image {

ReadImageKind read_aria, read_cohere2_vision, read_convnext, read_deepseek_ocr, read_detr,
    read_dinov3, read_donut, read_dpt, read_ernie_vl, read_fuyu, read_gemma3, read_gemma4,
    read_gemma4_video, read_glm46v_video, read_glm4v, read_glm4v_video, read_got_ocr2,
    read_idefics2, read_idefics3, read_lfm2_vl, read_llama4, read_llava_next, read_llava_onevision,
    read_llava_onevision_video, read_mask2former, read_minicpm_v, read_mllama, read_ovis2,
    read_paddleocr_vl, read_perception_lm, read_phi4, read_pixtral, read_plain, read_qwen2_vl,
    read_qwen2_video, read_qwen3_video, read_sam, read_siglip2, read_smolvlm_video, read_step3p7,
    read_superpoint, read_textnet, read_video_llama;

struct ImageKindRow {
  std::string_view type;
  ReadImageKind* read;
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
    {"Siglip2ImageProcessor", read_siglip2},
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
    {"Gemma4VideoProcessor", read_gemma4_video},
    {"Glm46VImageProcessor", read_glm46v_video},
    {"Glm46VVideoProcessor", read_glm46v_video},
    {"Glm4vImageProcessor", read_glm4v_video},
    {"Glm4vVideoProcessor", read_glm4v_video},
    {"LlavaOnevisionImageProcessor", read_llava_onevision_video},
    {"LlavaOnevisionVideoProcessor", read_llava_onevision_video},
    {"Qwen2VLImageProcessor", read_qwen2_video},
    {"Qwen2VLVideoProcessor", read_qwen2_video},
    {"Qwen3VLVideoProcessor", read_qwen3_video},
    {"SmolVLMImageProcessor", read_smolvlm_video},
    {"SmolVLMVideoProcessor", read_smolvlm_video},
};

}  // namespace pippin::image
