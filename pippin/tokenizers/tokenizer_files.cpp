#include "pippin/tokenizers/tokenizer_files.h"

#include <string>

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/base/mapped_file.h"
#include "pippin/tokenizers/legacy_files.h"
#include "pippin/tokenizers/sentencepiece_file.h"

namespace pippin::tokenizers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFileBytes = size_t{1} << 28;

std::optional<fs::path> only_file_with(const fs::path& folder, std::string_view extension) {
  std::optional<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != extension) continue;
    if (found) return std::nullopt;
    found = entry.path();
  }
  return found;
}

}  // namespace

std::optional<fs::path> find_tokenizer_file(const fs::path& path) {
  if (!fs::exists(path)) {
    fail(ErrorCode::NotFound, "{}: there is no such tokenizer", path.string());
  }
  if (!fs::is_directory(path)) return path;
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model"}) {
    if (fs::exists(path / name)) return path / name;
  }
  if (fs::exists(path / "vocab.json") && fs::exists(path / "merges.txt"))
    return path / "vocab.json";
  return only_file_with(path, ".tiktoken");
}

JsonFile read_tokenizer_file(const fs::path& path) {
  const auto mapped = MappedFile::open(path);
  const std::string_view bytes = as_text(mapped->bytes());
  if (bytes.size() > kMaxFileBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", path.string(), bytes.size(),
         kMaxFileBytes);
  }
  const std::string name = path.string();
  const fs::path folder = path.parent_path();
  if (path.filename() == "vocab.json") {
    return read_vocab_and_merges(bytes, read_file(folder / "merges.txt", kMaxFileBytes),
                                 read_tokenizer_settings(folder), name);
  }
  if (looks_like_tiktoken(bytes)) return read_tiktoken(bytes, name);
  if (path.extension() == ".model") {
    return read_sentencepiece(bytes, read_tokenizer_settings(folder), name);
  }
  return read_json_file(bytes, name);
}

}  // namespace pippin::tokenizers
