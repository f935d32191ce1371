// The language model inside a vision-language checkpoint: its configuration is text_config, and
// tensors of the other parts are ignored. Models whose towers are known take rows of embeddings in
// place of tokens, which Pictures describes.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

using Sight = nn::RowInputOptions::Sight;

// The rows that a model takes for pictures.
struct Pictures {
  Sight sight = Sight::Causal;
  // Positions with three coordinates: the sections of a configuration without mrope_section, and
  // whether it is interleaved. Empty: one coordinate.
  std::vector<int64_t> sections = {};
  bool interleaved = false;
  int64_t added = 0;                // as in nn::RowInputOptions
  bool scaled = false;              // likewise
  bool causal_full_layers = false;  // likewise
};

void add_pictures(const Config& config, const Config& text, const Pictures& pictures,
                  nn::DecoderOptions& model) {
  nn::RowInputOptions& rows = model.row_input.emplace();
  rows.sight = pictures.sight;
  rows.added = pictures.added;
  rows.scaled = pictures.scaled;
  rows.causal_full_layers = pictures.causal_full_layers;
  if (!pictures.sections.empty()) {
    read_sections(text, model, pictures.sections, pictures.interleaved);
  }
  for (const std::string_view key : {"image_token_id", "image_token_index"}) {
    const auto id = config.find(key);
    if (id) rows.placeholder = static_cast<int32_t>(id->as_int(0, kMaxSize));
  }
}

// As files were saved first, and since version 4.52 of Hugging Face's library.
void name_parts(nn::DecoderOptions& model) {
  model.roots = {{"language_model.model", "language_model.lm_head"},
                 {"model.language_model", "lm_head"},
                 {"text_model.model", "text_model.lm_head"},
                 {"model.text_model", "lm_head"}};
  for (const std::string_view part :
       {"vision_tower.", "vision_model.", "multi_modal_projector.", "audio_tower.", "embed_vision.",
        "embed_audio.", "visual.", "mm_projector.", "vqmodel.", "vit.", "connector.", "projector.",
        "merger.", "image_newline", "sam_model.", "qwen2_model.", "view_seperator", "mlp_AR.",
        "visual_embeddings_table."}) {
    model.other_parts.push_back(std::string(part));
    model.other_parts.push_back("model." + std::string(part));
  }
}

nn::DecoderOptions language_model(const Config& config, std::string_view model_type,
                                  std::string_view key = "text_config",
                                  const Pictures* pictures = nullptr) {
  config.ignore({"vision_config", "audio_config"});
  const auto nested = config.find(key);
  if (!nested) config.invalid(key, "missing");
  const Config text(*nested);
  nn::DecoderOptions model = describe_architecture(text, model_type);
  if (pictures != nullptr) add_pictures(config, text, *pictures, model);
  text.refuse_unread();
  // Either may have it. If they differ, or neither does, the file decides.
  const bool outer = config.flag("tie_word_embeddings", model.tied);
  if (!text.contains("tie_word_embeddings")) {
    model.tied_without_head = !config.contains("tie_word_embeddings") && model.tied;
    model.tied = outer;
  } else if (outer != model.tied) {
    model.tied = model.tied_without_head = true;
  }
  name_parts(model);
  return model;
}

nn::DecoderOptions language_model(const Config& config, std::string_view model_type,
                                  const Pictures& pictures) {
  return language_model(config, model_type, "text_config", &pictures);
}

// For models whose first configurations have the language model's keys next to vision_config.
nn::DecoderOptions flat_or_nested(const Config& config, std::string_view model_type,
                                  nn::DecoderOptions (*describe)(const Config&),
                                  const Pictures& pictures) {
  if (config.find("text_config")) return language_model(config, model_type, pictures);
  config.ignore({"vision_config", "audio_config"});
  nn::DecoderOptions model = describe(config);
  add_pictures(config, config, pictures, model);
  name_parts(model);
  return model;
}

// The number of layers of a tower whose results are added after the first layers.
int64_t deepstack_of(const Config& config, int64_t fallback) {
  const auto vision = config.find("vision_config");
  if (!vision) return fallback;
  const auto layers = Config(*vision).find("deepstack_visual_indexes");
  if (!layers) return fallback;
  const size_t count = layers->as_ints().size();
  if (count > static_cast<size_t>(kMaxHeads)) {
    config.invalid("vision_config.deepstack_visual_indexes", "too many layers");
  }
  return static_cast<int64_t>(count);
}

// Granite multiplies rows by its factor of embeddings, as it multiplies those.
Pictures of_text(const Config& config) {
  const auto text = config.find("text_config");
  const std::string type = text ? Config(*text).text("model_type", "") : std::string();
  return {.scaled = type.starts_with("granite")};
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
  return language_model(config, "mistral", Pictures{});
}

// LLaVA 1.5, Pixtral in its form, and their successors.
nn::DecoderOptions llava(const Config& config) {
  return language_model(config, "llama", of_text(config));
}
nn::DecoderOptions llava_next(const Config& config) {
  return language_model(config, "llama", of_text(config));
}
nn::DecoderOptions llava_onevision(const Config& config) {
  return language_model(config, "qwen2", of_text(config));
}

// FastVLM as Apple publishes it: Qwen2's keys next to LLaVA's (mm_projector_type and others).
nn::DecoderOptions llava_qwen2(const Config& config) {
  return flat_or_nested(config, "qwen2", qwen2, Pictures{});
}

// Idefics 2, whose text_config may say that it is a Mistral by saying nothing.
nn::DecoderOptions idefics2(const Config& config) {
  config.ignore({"perceiver_config"});
  return language_model(config, "mistral", Pictures{});
}

// SmolVLM, SmolVLM2 and Idefics 3.
nn::DecoderOptions smolvlm(const Config& config) {
  return language_model(config, "llama", Pictures{});
}
nn::DecoderOptions idefics3(const Config& config) {
  return language_model(config, "llama", Pictures{});
}

// InternVL 2.5 to 3.5 and GOT-OCR 2.
nn::DecoderOptions internvl(const Config& config) {
  return language_model(config, "qwen2", Pictures{});
}
nn::DecoderOptions got_ocr2(const Config& config) {
  return language_model(config, "qwen2", Pictures{});
}

// Aya Vision and Command A Vision. In Hugging Face's classes, logits are not scaled.
nn::DecoderOptions aya_vision(const Config& config) {
  nn::DecoderOptions model = language_model(config, "cohere2", Pictures{});
  model.logit_scale = 1;
  return model;
}
nn::DecoderOptions cohere2_vision(const Config& config) {
  return aya_vision(config);
}

nn::DecoderOptions ovis2(const Config& config) {
  config.ignore({"vocab_size", "hidden_size"});
  return language_model(config, "qwen2", Pictures{});
}

nn::DecoderOptions lfm2_vl(const Config& config) {
  return language_model(config, "lfm2", Pictures{});
}

nn::DecoderOptions deepseek_ocr2(const Config& config) {
  return language_model(config, "deepseek_ocr2_text", Pictures{});
}

// MiniCPM-V 4.6: Qwen3.5, whose pictures have the positions of text.
nn::DecoderOptions minicpmv4_6(const Config& config) {
  return language_model(config, "qwen3_5_text", Pictures{});
}

// PaliGemma and PaliGemma 2, whose prompts are not causal. In Hugging Face's class, logits have no
// soft cap.
nn::DecoderOptions paligemma(const Config& config) {
  const auto text = config.find("text_config");
  if (!text) config.invalid("text_config", "missing");
  const Config causal = Config(*text).with_value("use_bidirectional_attention", "false");
  nn::DecoderOptions model = language_model(config.with_value("text_config", causal.json().dump()),
                                            "gemma", Pictures{.sight = Sight::Prompt});
  model.logit_softcap.reset();
  return model;
}

// Qwen2-VL and Qwen2.5-VL.
nn::DecoderOptions qwen2_vl(const Config& config) {
  return flat_or_nested(config, "qwen2_vl_text", qwen2_vl_text, {.sections = {16, 24, 24}});
}
nn::DecoderOptions qwen2_5_vl(const Config& config) {
  return flat_or_nested(config, "qwen2_5_vl_text", qwen2_vl_text, {.sections = {16, 24, 24}});
}
nn::DecoderOptions qwen2_5_vl_text(const Config& config) {
  return qwen2_vl_text(config);
}

// Qwen3-VL.
nn::DecoderOptions qwen3_vl(const Config& config) {
  return language_model(
      config, "qwen3_vl_text",
      {.sections = {24, 20, 20}, .interleaved = true, .added = deepstack_of(config, 3)});
}

nn::DecoderOptions paddleocr_vl(const Config& config) {
  return flat_or_nested(config, "paddleocr_vl_text", paddleocr_vl_text, {.sections = {16, 24, 24}});
}

// Gemma 3 from 4B on.
nn::DecoderOptions gemma3_vision(const Config& config) {
  return language_model(config, "gemma3_text", Pictures{.sight = Sight::Runs});
}

// Gemma 3n.
nn::DecoderOptions gemma3n(const Config& config) {
  return language_model(config, "gemma3n_text", Pictures{});
}

namespace {

// In the windowed layers of larger models, the rows of a picture see each other as far as the
// window reaches back.
Pictures gemma4_pictures(const Config& config) {
  const auto text = config.find("text_config");
  const auto sight = text ? Config(*text).find("use_bidirectional_attention") : std::nullopt;
  const bool runs = sight && sight->is_string() && sight->as_string() == "vision";
  return {.sight = runs ? Sight::Runs : Sight::Causal, .causal_full_layers = runs};
}

}  // namespace

// Gemma 4.
nn::DecoderOptions gemma4(const Config& config) {
  return language_model(config, "gemma4_text", gemma4_pictures(config));
}
nn::DecoderOptions gemma4_unified(const Config& config) {
  return language_model(config, "gemma4_unified_text", gemma4_pictures(config));
}

// Llama 4 Scout and Maverick.
nn::DecoderOptions llama4(const Config& config) {
  return language_model(config, "llama4_text", Pictures{});
}

// Qwen3.5, 3.6 and 3.8, all of which have vision.
nn::DecoderOptions qwen3_5(const Config& config) {
  return language_model(config, "qwen3_5_text",
                        Pictures{.sections = {11, 11, 10}, .interleaved = true});
}
nn::DecoderOptions qwen3_5_moe(const Config& config) {
  return language_model(config, "qwen3_5_moe_text",
                        Pictures{.sections = {11, 11, 10}, .interleaved = true});
}

// Qwen3-VL with experts.
nn::DecoderOptions qwen3_vl_moe(const Config& config) {
  return language_model(
      config, "qwen3_vl_moe_text",
      {.sections = {24, 20, 20}, .interleaved = true, .added = deepstack_of(config, 3)});
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
  return language_model(config, "glm4v_text", Pictures{.sections = {8, 12, 12}});
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
