// A GGUF file as a model: the sizes, tokens and pooling in its metadata.
#include <optional>

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgufContent content = parse_gguf(std::as_bytes(std::span(data, size)), "x.gguf");
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
    // As the vision tower of some language model, too.
    const std::string name = "x.gguf";
    const std::string text = R"({"gguf_architecture": "llama", "hidden_size": 4})";
    if (GgufMetadata(content, name).text("general.architecture") == "clip") {
      const auto made = models::gguf_vision_config({content, name}, text, {content, name});
      models::vision::describe_vision(models::Config(Json::parse(made.config, "config.json")));
      image::ImageProcessor::parse(Json::parse(made.processor, name).at("image_processor"));
    }
    Json::parse(models::gguf_config(content, "x.gguf"), "config.json");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
