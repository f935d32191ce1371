// The tokenizer files other than tokenizer.json are untrusted, too: SentencePiece models, tiktoken
// ranks, and vocab.json with merges.txt (here concatenated with a zero byte between them). Any
// bytes give a tokenizer whose streams equal its texts, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const TempDir folder;
  if (folder.path().empty()) return 0;
  const size_t zero = bytes.find('\0');
  if (bytes.starts_with('{') && zero != bytes.npos) {
    write_file(folder / "vocab.json", std::string(bytes.substr(0, zero)));
    write_file(folder / "merges.txt", std::string(bytes.substr(zero + 1)));
  } else {
    write_file(folder / "tokenizer.model", std::string(bytes));
  }
  try {
    const auto tokenizer = Tokenizer::open(folder.path());
    const auto ids = tokenizer.encode("Hello,  w\xC3\xB6rld!  <s>\n 12 \xF0\x9F\x98\x80");
    StreamDecoder stream(tokenizer);
    std::string joined;
    for (const int32_t id : ids) joined += stream.push(id);
    joined += stream.finish();
    if (joined != tokenizer.decode(ids)) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
