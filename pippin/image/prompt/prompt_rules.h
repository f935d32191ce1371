// The rules of prompts, and what they share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pippin/image/prompt/image_prompt.h"

namespace pippin::image {

// The settings of a processor: its own, then those of its image processor.
struct PromptSettings {
  Json processor, image_processor;

  // Returns a number of 1 to 2^20.
  int64_t number(std::string_view key, int64_t fallback) const;
  int64_t image_number(std::string_view key, int64_t fallback) const;
  // Returns `size` or another size of the image processor: its height or its only edge.
  int64_t image_side(std::string_view key, int64_t fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
};

struct PromptRule {
  std::string placeholder, row_token;
  std::function<std::vector<ImagePiece>(const ImageInputs& inputs, int64_t index)> expand;
  bool row_token_is_optional = false;
  // Of videos, if they are supported.
  std::string video_placeholder = {};
  std::function<std::vector<ImagePiece>(const ImageInputs& inputs, int64_t index)> expand_video =
      {};
  // A token that is written once where images or their parts are adjacent; empty: none.
  std::string written_once = {};
  // Texts without a chat template (ImagePrompt::framed()): after images that come first, and at the
  // end.
  bool writes_special_tokens = false;
  std::string text_begin = {}, text_end = {};
};

// Returns number `index` of the output `name`. Throws InvalidArgument if it is missing.
int64_t output_number(const ImageInputs& inputs, const std::string& name, size_t index);

// read_qwen2_prompt reads Qwen2.5-VL's as well, read_qwen3_prompt Qwen3.5's.
using ReadPromptRule = PromptRule(const PromptSettings& settings);
ReadPromptRule read_qwen2_prompt, read_qwen3_prompt, read_gemma3_prompt, read_gemma3n_prompt,
    read_gemma4_prompt, read_llava_prompt, read_llava_next_prompt, read_llava_onevision_prompt,
    read_deepseek_ocr_prompt, read_got_ocr2_prompt, read_mllama_prompt, read_idefics2_prompt,
    read_idefics3_prompt, read_smolvlm_prompt, read_internvl_prompt, read_aya_prompt,
    read_cohere2_prompt, read_llama4_prompt, read_lfm2_prompt, read_minicpm_prompt,
    read_ovis2_prompt, read_paligemma_prompt, read_pixtral_prompt, read_glm46v_prompt,
    read_glm4v_prompt, read_paddleocr_prompt, read_qwen_omni_prompt;

}  // namespace pippin::image
