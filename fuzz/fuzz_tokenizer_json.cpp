// tokenizer.json is untrusted: any bytes give a tokenizer or an Error, and streaming gives the same
// text as decode(). Its tables equal those in a tree of the file.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/tokenizers/tables/json_file.h"
#include "pippin/tokenizers/tables/json_file_testing.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

std::optional<pippin::tokenizers::JsonFile> read(std::string_view text) {
  try {
    return pippin::tokenizers::read_json_file(text, "fuzz");
  } catch (const pippin::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto file = read(json);
  if (file && !pippin::json_file_testing::same(*file, pippin::Json::parse(json, "fuzz"))) {
    __builtin_trap();
  }
  try {
    const auto tokenizer = pippin::Tokenizer::from_json(json, "fuzz");
    const auto ids = tokenizer.encode("Hello, w\xC3\xB6rld!  <s>\n 12 \xF0\x9F\x98\x80");
    pippin::StreamDecoder stream(tokenizer);
    std::string joined;
    for (const int32_t id : ids) joined += stream.push(id);
    joined += stream.finish();
    if (joined != tokenizer.decode(ids)) __builtin_trap();
  } catch (const pippin::Error&) {
  }
  return 0;
}
