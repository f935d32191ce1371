// A GGUF file as a model: the sizes, tokens and pooling in its metadata.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_projector.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/tokenizers/files/gguf_file.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

// As the vision tower of some language model. Returns whether it is one.
bool read_tower(const pippin::GgufContent& content) {
  using namespace pippin;
  const std::string name = "x.gguf";
  const GgufMetadata metadata(content, name);
  if (metadata.text("general.architecture") != "clip") return false;
  const int64_t width = metadata.size("clip.vision.projection_dim").value_or(4);
  for (const char* const language :
       {"llama", "gemma3", "gemma4", "glm4", "lfm2", "qwen2vl", "qwen35"}) {
    const std::string text =
        fmt::format(R"({{"gguf_architecture": "{}", "hidden_size": {}}})", language, width);
    try {
      const auto made = models::gguf_vision_config({content, name}, text, {content, name});
      models::vision::describe_vision(models::Config(Json::parse(made.config, "config.json")));
      image::ImageProcessor::parse(Json::parse(made.processor, name).at("image_processor"));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Internal) __builtin_trap();
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgufContent content = parse_gguf(std::as_bytes(std::span(data, size)), "x.gguf");
    if (read_tower(content)) return 0;
    const tokenizers::TextFile tokenizer = tokenizers::gguf_tokenizer_file(content, "x.gguf");
    for (const auto& files : {app::gguf_sentence_files(content, "x.gguf"),
                              tokenizers::gguf_settings_files(content, "x.gguf")}) {
      for (const tokenizers::TextFile& file : files) {
        if (file.name.ends_with(".json")) Json::parse(file.text, file.name);
      }
    }
    // The file and its conversion must have the same content, or both are rejected.
    const auto read = [](const auto& from) -> std::optional<tokenizers::JsonFile> {
      try {
        return from();
      } catch (const Error& error) {
        if (error.code() == ErrorCode::Internal) __builtin_trap();
        return std::nullopt;
      }
    };
    if (tokenizer.name == "tokenizer.json") {
      const auto direct = read([&] { return tokenizers::read_gguf_tokenizer(content, "x.gguf"); });
      const auto through = read([&] { return tokenizers::read_json_file(tokenizer.text, "x"); });
      if (direct.has_value() != through.has_value()) __builtin_trap();
      if (direct && !(direct->vocab_tokens == through->vocab_tokens &&
                      direct->vocab_ids == through->vocab_ids &&
                      direct->merge_parts == through->merge_parts)) {
        __builtin_trap();
      }
      Tokenizer::from_json(tokenizer.text, tokenizer.name);
    }
    Json::parse(models::gguf_config(content, "x.gguf"), "config.json");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
