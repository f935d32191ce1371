// A GGUF file as a model: what its metadata says of sizes, tokens and pooling.
#include "pippin/app/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf.h"
#include "pippin/tokenizers/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgufContent content = parse_gguf(std::as_bytes(std::span(data, size)), "x.gguf");
    for (const auto& files : {app::gguf_sentence_files(content, "x.gguf"),
                              app::gguf_tokenizer_files(content, "x.gguf")}) {
      for (const app::TextFile& file : files) {
        if (file.name.ends_with(".json")) Json::parse(file.text, file.name);
        if (file.name == "tokenizer.json") Tokenizer::from_json(file.text, file.name);
      }
    }
    Json::parse(models::gguf_config(content, "x.gguf"), "config.json");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
