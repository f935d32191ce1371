#include "pippin/tokenizers/files/tokenizer_files.h"

#include <string>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/io/model_files.h"
#include "pippin/tokenizers/files/applied_settings.h"
#include "pippin/tokenizers/files/gguf_file.h"
#include "pippin/tokenizers/files/legacy_files.h"
#include "pippin/tokenizers/files/sentencepiece_file.h"

namespace pippin::tokenizers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxVocabularyBytes = size_t{1} << 28;

}  // namespace

std::optional<fs::path> find_tokenizer_file(const fs::path& path) {
  if (!fs::exists(path)) {
    fail(ErrorCode::NotFound, "{}: there is no such tokenizer", path.string());
  }
  if (!fs::is_directory(path)) return path;
  for (const ModelFile& row : kModelFiles) {
    if (row.role != FileRole::Tokenizer) continue;
    const auto files = files_of_row(path, row);
    if (files.size() == 1) return files.front();  // several *.tiktoken files are ambiguous
  }
  // A GGUF, or the first part of one; the GGUFs of several models are ambiguous.
  auto parts = files_of_row(path, {FileRole::Tokenizer, "*.gguf"});
  std::erase_if(parts,
                [](const fs::path& file) { return is_projector_name(file.filename().string()); });
  const bool is_one =
      parts.size() == 1 ||
      (!parts.empty() && parts.front().stem().string().find("-00001-of-") != std::string::npos);
  return is_one ? std::optional(parts.front()) : std::nullopt;
}

std::string tokenizer_file_names() {
  std::string names;
  for (const ModelFile& row : kModelFiles) {
    if (row.role != FileRole::Tokenizer) continue;
    names += fmt::format("{}{}{}{}", names.empty() ? "" : ", ", row.name,
                         row.required_file.empty() ? "" : " with ", row.required_file);
  }
  return names;
}

JsonFile read_tokenizer_file(const fs::path& path) {
  const auto mapped = MappedFile::open(path);
  if (path.extension() == ".gguf") {
    const std::string name = path.filename().string();
    return read_gguf_tokenizer(parse_gguf(mapped->bytes(), name), name);
  }
  const std::string_view bytes = as_text(mapped->bytes());
  if (bytes.size() > kMaxVocabularyBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", path.string(), bytes.size(),
         kMaxVocabularyBytes);
  }
  const std::string name = path.string();
  const fs::path folder = path.parent_path();
  if (path.filename() == "vocab.json") {
    return read_vocab_and_merges(bytes, read_file(folder / "merges.txt", kMaxVocabularyBytes),
                                 read_tokenizer_settings(folder), name);
  }
  if (looks_like_tiktoken(bytes)) return read_tiktoken(bytes, name);
  if (path.extension() == ".model") {
    return read_sentencepiece(bytes, read_tokenizer_settings(folder), name);
  }
  JsonFile file = read_json_file(bytes, name);
  if (path.filename() == "tokenizer.json") apply_settings(file, folder, name);
  return file;
}

}  // namespace pippin::tokenizers
