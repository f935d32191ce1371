// The language model inside a checkpoint that sees as well: its configuration is text_config, its
// tensors lie beside those of other parts, which are left alone. Text is all that it takes here.
#include <initializer_list>
#include <string_view>

#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {
namespace {

nn::DecoderOptions language_model(const Config& config, std::string_view model_type) {
  config.ignore({"vision_config", "audio_config"});
  const auto nested = config.find("text_config");
  if (!nested) config.invalid("text_config", "missing");
  const Config text(*nested);
  nn::DecoderOptions model = describe_architecture(text, model_type);
  text.refuse_unread();
  if (!text.contains("tie_word_embeddings")) {
    if (config.contains("tie_word_embeddings")) {
      model.tied = config.flag("tie_word_embeddings", model.tied);
    } else {
      model.tied_without_head = model.tied;
    }
  }
  // As files were saved first, and since version 4.52 of Hugging Face's library.
  model.roots = {{"language_model.model", "language_model.lm_head"},
                 {"model.language_model", "lm_head"}};
  for (const std::string_view part : {"vision_tower.", "vision_model.", "multi_modal_projector.",
                                      "audio_tower.", "embed_vision.", "embed_audio."}) {
    model.other_parts.push_back(std::string(part));
    model.other_parts.push_back("model." + std::string(part));
  }
  return model;
}

}  // namespace

// Mistral Small 3.1 and its kin.
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

// Llama 4 Scout and Maverick.
nn::DecoderOptions llama4(const Config& config) {
  return language_model(config, "llama4_text");
}

}  // namespace pippin::models
