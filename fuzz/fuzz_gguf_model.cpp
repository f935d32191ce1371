// A GGUF file as a model: what its metadata says of sizes and tokens.
#include "pippin/app/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgufContent content = parse_gguf(std::as_bytes(std::span(data, size)), "x.gguf");
    for (const app::TextFile& file : app::gguf_tokenizer_files(content, "x.gguf")) {
      if (file.name.ends_with(".json")) Json::parse(file.text, file.name);
    }
    Json::parse(models::gguf_config(content, "x.gguf"), "config.json");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
