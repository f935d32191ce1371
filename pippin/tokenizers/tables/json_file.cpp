#include "pippin/tokenizers/tables/json_file.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tokenizers/tables/table_scanner.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 30;

constexpr JsonLimits kLimits{.max_bytes = kMaxFileBytes, .max_depth = 64};

// Extracts the tables from a file. Json parses the rest, and any file with an error, so that one
// implementation defines valid JSON and the messages.
class TableReader {
 public:
  TableReader(std::string_view text, JsonFile& file)
      : scanner_(text), from_(text.data()), file_(file) {}

  // Returns false if the file is not JSON or not an object, or for the reason in problem().
  bool read() {
    const bool read = scanner_.take_object([&](std::string_view key) {
      if (key != "model") return scanner_.skip_value();
      clear_vocab();  // the last of equal keys counts
      clear_merges();
      return scanner_.is_next('{') ? read_model() : scanner_.skip_value();
    });
    rest_.append(from_, scanner_.place() + scanner_.left());
    return read;
  }

  // The file with null in place of its tables. It is valid JSON only if the file is.
  const std::string& rest() const { return rest_; }
  // The fault in a table, if the file is JSON.
  const std::string& problem() const { return problem_; }

 private:
  bool read_model() {
    return scanner_.take_object([&](std::string_view key) {
      const bool is_vocab = key == "vocab", is_merges = key == "merges";
      if (is_vocab) clear_vocab();
      if (is_merges) clear_merges();
      const bool is_object = scanner_.is_next('{'), is_array = scanner_.is_next('[');
      const bool is_table = is_vocab ? is_object || is_array : is_merges && is_array;
      if (!is_table) return scanner_.skip_value();
      rest_.append(from_, scanner_.place());
      rest_ += "null";
      const bool read = is_merges ? read_merges() : is_object ? read_vocab() : read_scores();
      from_ = scanner_.place();
      return read;
    });
  }

  bool read_vocab() {
    file_.has_vocab = true;
    reserve(file_.vocab_tokens);
    const bool read = scanner_.take_object([&](std::string_view token) {
      int32_t id = 0;
      file_.vocab_tokens.add(token);
      if (!scanner_.take_id(kMaxTokenId, id)) return false;
      file_.vocab_ids.push_back(id);
      return true;
    });
    if (!read) {
      problem_ = fmt::format("model.vocab: the id of token {} is not from 0 to {}",
                             file_.vocab_tokens.size() - 1, kMaxTokenId);
    }
    return read;
  }

  bool read_scores() {
    file_.has_scores = true;
    reserve(file_.vocab_tokens);
    const bool read = scanner_.take_array([&] {
      std::string_view token;
      double score = 0;
      if (!scanner_.take('[') || !scanner_.take_text(token)) return false;
      file_.vocab_tokens.add(token);
      if (!scanner_.take(',') || !scanner_.take_number(score) || !scanner_.take(']')) return false;
      file_.vocab_scores.push_back(score);
      return true;
    });
    if (!read) {
      problem_ = fmt::format("model.vocab: entry {} is not a token and its score",
                             file_.vocab_scores.size());
    }
    return read;
  }

  bool read_merges() {
    file_.has_merges = true;
    reserve(file_.merge_parts);
    size_t whole = 0;  // complete merges
    const bool read = scanner_.take_array([&] {
      std::string_view part;
      whole = file_.merge_parts.size() / 2;
      if (scanner_.is_next('"')) return scanner_.take_text(part) && file_.add_merge(part);
      if (!scanner_.take('[') || !scanner_.take_text(part)) return false;
      file_.merge_parts.add(part);
      if (!scanner_.take(',') || !scanner_.take_text(part)) return false;
      file_.merge_parts.add(part);
      return scanner_.take(']');
    });
    if (!read) problem_ = fmt::format("model.merges: merge {} is not two tokens", whole);
    return read;
  }

  // Reserves space for a table that fills the rest of the file: most entries have at least this
  // length.
  void reserve(StringPool& pool) const { pool.reserve(scanner_.left() / 8, scanner_.left() / 2); }
  void clear_vocab() {
    file_.vocab_tokens.clear();
    file_.vocab_ids.clear();
    file_.vocab_scores.clear();
    file_.has_vocab = file_.has_scores = false;
  }
  void clear_merges() {
    file_.merge_parts.clear();
    file_.has_merges = false;
  }

  TableScanner scanner_;
  const char* from_;  // start of the text not yet copied to rest_
  JsonFile& file_;
  std::string rest_, problem_ = "not valid JSON";
};

}  // namespace

bool JsonFile::add_merge(std::string_view text) {
  if (text.starts_with("#version")) return true;
  const size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) return false;
  merge_parts.add(text.substr(0, space));
  merge_parts.add(text.substr(space + 1));
  return true;
}

JsonFile read_json_file(std::string_view text, std::string_view name) {
  if (text.size() > kMaxFileBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", name, text.size(),
         kMaxFileBytes);
  }
  const std::string document(name);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // UTF-8 byte order mark
  const std::string_view content = text.starts_with(kMark) ? text.substr(kMark.size()) : text;
  JsonFile file;
  TableReader tables(content, file);
  if (!tables.read()) {
    // An array is rejected before its content.
    const bool is_object =
        !TableScanner(content).is_next('[') && Json::parse(text, document, kLimits).is_object();
    fail(ErrorCode::InvalidFile, "{}: {}", name,
         is_object ? tables.problem() : "not a JSON object");
  }
  try {
    file.root = Json::parse(tables.rest(), document, kLimits);
  } catch (const Error&) {
    Json::parse(text, document, kLimits);  // its message has the position in the file
    throw;
  }
  return file;
}

}  // namespace pippin::tokenizers
