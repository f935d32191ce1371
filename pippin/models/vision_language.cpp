// The language model inside a vision-language checkpoint: its configuration is text_config, and
// tensors of the other parts are ignored. Only text is supported.
#include <initializer_list>
#include <string_view>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

nn::DecoderOptions language_model(const Config& config, std::string_view model_type,
                                  std::string_view key = "text_config") {
  config.ignore({"vision_config", "audio_config"});
  const auto nested = config.find(key);
  if (!nested) config.invalid(key, "missing");
  const Config text(*nested);
  nn::DecoderOptions model = describe_architecture(text, model_type);
  text.refuse_unread();
  // Either may have it. If they differ, or neither does, the file decides.
  const bool outer = config.flag("tie_word_embeddings", model.tied);
  if (!text.contains("tie_word_embeddings")) {
    model.tied_without_head = !config.contains("tie_word_embeddings") && model.tied;
    model.tied = outer;
  } else if (outer != model.tied) {
    model.tied = model.tied_without_head = true;
  }
  // As files were saved first, and since version 4.52 of Hugging Face's library.
  model.roots = {{"language_model.model", "language_model.lm_head"},
                 {"model.language_model", "lm_head"},
                 {"text_model.model", "text_model.lm_head"},
                 {"model.text_model", "lm_head"}};
  for (const std::string_view part :
       {"vision_tower.", "vision_model.", "multi_modal_projector.", "audio_tower.", "embed_vision.",
        "embed_audio.", "visual.", "mm_projector.", "vqmodel.", "vit."}) {
    model.other_parts.push_back(std::string(part));
    model.other_parts.push_back("model." + std::string(part));
  }
  return model;
}

// Ids that stand for pictures and videos, which some models embed as id 0 before replacing them.
void embed_places_as_first(const Config& config, nn::DecoderOptions& model) {
  for (const std::string_view key : {"image_token_id", "video_token_id"}) {
    const auto id = config.find(key);
    if (id) model.embedded_as_first.push_back(static_cast<int32_t>(id->as_int(0, kMaxSize)));
  }
}

}  // namespace

// Mistral Small 3.1 and similar models.
nn::DecoderOptions mistral3(const Config& config) {
  return language_model(config, "mistral");
}

// Gemma 3 from 4B on.
nn::DecoderOptions gemma3_vision(const Config& config) {
  return language_model(config, "gemma3_text");
}

// Gemma 3n.
nn::DecoderOptions gemma3n(const Config& config) {
  return language_model(config, "gemma3n_text");
}

// Gemma 4.
nn::DecoderOptions gemma4(const Config& config) {
  return language_model(config, "gemma4_text");
}
nn::DecoderOptions gemma4_unified(const Config& config) {
  return language_model(config, "gemma4_unified_text");
}

// Llama 4 Scout and Maverick.
nn::DecoderOptions llama4(const Config& config) {
  return language_model(config, "llama4_text");
}

// Qwen3.5, 3.6 and 3.8, all of which have vision.
nn::DecoderOptions qwen3_5(const Config& config) {
  return language_model(config, "qwen3_5_text");
}
nn::DecoderOptions qwen3_5_moe(const Config& config) {
  return language_model(config, "qwen3_5_moe_text");
}

// Qwen3-VL with experts.
nn::DecoderOptions qwen3_vl_moe(const Config& config) {
  return language_model(config, "qwen3_vl_moe_text");
}

// Qwen3-Omni's thinker, with or without the talker.
nn::DecoderOptions qwen3_omni_moe_thinker(const Config& config) {
  nn::DecoderOptions model = language_model(config, "qwen3_omni_moe_text");
  model.roots.push_back({"thinker.model", "thinker.lm_head"});
  for (const char* part : {"thinker.audio_tower.", "thinker.visual.", "talker.", "code2wav."}) {
    model.other_parts.emplace_back(part);
  }
  return model;
}
nn::DecoderOptions qwen3_omni_moe(const Config& config) {
  config.ignore({"talker_config", "code2wav_config"});
  return language_model(config, "qwen3_omni_moe_thinker", "thinker_config");
}

// EXAONE 4.5.
nn::DecoderOptions exaone4_5(const Config& config) {
  return language_model(config, "exaone4");
}

// Kimi K2.5 and K2.6.
nn::DecoderOptions kimi_k25(const Config& config) {
  nn::DecoderOptions model = language_model(config, "deepseek_v3");
  embed_places_as_first(config, model);
  return model;
}

// GLM-4.1V.
nn::DecoderOptions glm4v(const Config& config) {
  return language_model(config, "glm4v_text");
}

// HunyuanOCR.
nn::DecoderOptions hunyuan_vl(const Config& config) {
  return language_model(config, "hunyuan_vl_text");
}
nn::DecoderOptions hunyuan_vl_text(const Config& config) {
  return hunyuan_v1_dense(config);
}

// Emu3.
nn::DecoderOptions emu3(const Config& config) {
  return language_model(config, "emu3_text_model");
}

// ERNIE 4.5-VL.
nn::DecoderOptions ernie4_5_vl_moe(const Config& config) {
  nn::DecoderOptions model = language_model(config, "ernie4_5_vl_moe_text");
  for (const char* part : {"vision_model.", "model.vision_model.", "model.resampler_model."}) {
    model.other_parts.emplace_back(part);
  }
  return model;
}

// Aria.
nn::DecoderOptions aria(const Config& config) {
  return language_model(config, "aria_text");
}

// Step 3.7.
nn::DecoderOptions step3p7(const Config& config) {
  nn::DecoderOptions model = language_model(config, "step3p5");
  model.other_parts.emplace_back("vit_large_projector.");
  return model;
}

// Muse Glimmer.
nn::DecoderOptions muse_glimmer(const Config& config) {
  nn::DecoderOptions model = language_model(config, "muse_glimmer_text");
  embed_places_as_first(config, model);
  for (const char* part : {"model.vision_adapter.", "model.vision_projection."}) {
    model.other_parts.emplace_back(part);
  }
  return model;
}

// Cohere Compass.
nn::DecoderOptions cohere_compass(const Config& config) {
  return language_model(config, "cohere_compass_text");
}

// MiniMax-M3.
nn::DecoderOptions minimax_m3_vl(const Config& config) {
  return language_model(config, "minimax_m3_vl_text");
}

// Inkling.
nn::DecoderOptions inkling_mm_model(const Config& config) {
  return language_model(config, "inkling_text");
}

// Llama 3.2 Vision.
nn::DecoderOptions mllama(const Config& config) {
  return language_model(config, "mllama_text_model");
}

}  // namespace pippin::models
