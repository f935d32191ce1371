// A GGML file of whisper.cpp: its sizes, filters and tensors, and the text files made of it.
#include "pippin/app/open/ggml_model.h"
#include "pippin/base/error.h"
#include "pippin/io/ggml.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgmlContent content = parse_ggml(std::as_bytes(std::span(data, size)), "x.bin");
    size_t bytes = 0;
    for (const GgufTensor& tensor : content.tensors) bytes += tensor.data.size();
    if (bytes > size) __builtin_trap();
    for (const tokenizers::TextFile& file : app::ggml_files(content, "x.bin")) {
      Json::parse(file.text, file.name);
      if (file.name == "tokenizer.json") Tokenizer::from_json(file.text, file.name);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
