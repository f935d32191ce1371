// tokenizer.json is untrusted: any bytes give a tokenizer or an Error, and what a tokenizer that
// loads makes of text streams to the same text. Its tables read the same scanned and parsed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/tokenizers/json_file.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

using pippin::tokenizers::Tables;

// The tables, or the error.
std::optional<pippin::tokenizers::JsonFile> read(std::string_view json, Tables tables,
                                                 std::string& error) {
  try {
    return pippin::tokenizers::read_json_file(json, "fuzz", tables);
  } catch (const pippin::Error& refused) {
    error = refused.what();
    return std::nullopt;
  }
}

bool reads_the_same(std::string_view json) {
  std::string scan_error, parse_error;
  const auto scanned = read(json, Tables::Scanned, scan_error);
  const auto parsed = read(json, Tables::Parsed, parse_error);
  if (!scanned || !parsed) return scan_error == parse_error;
  return scanned->has_vocab == parsed->has_vocab && scanned->has_scores == parsed->has_scores &&
         scanned->has_merges == parsed->has_merges && scanned->vocab_ids == parsed->vocab_ids &&
         scanned->vocab_tokens == parsed->vocab_tokens &&
         scanned->vocab_scores == parsed->vocab_scores &&
         scanned->merge_parts == parsed->merge_parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  if (!reads_the_same(json)) __builtin_trap();
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
