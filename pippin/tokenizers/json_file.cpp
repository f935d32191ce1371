#include "pippin/tokenizers/json_file.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/tokenizers/serde_number.h"
#include "pippin/tokenizers/table_scanner.h"

namespace pippin::tokenizers {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxFileBytes = size_t{1} << 30;

// Of "[json.exception.parse_error.101] parse error at line 1, column 2: REASON; last read: '...'":
// the parser knows neither the place nor the text where a table was scanned.
std::string_view reason_in(std::string_view message) {
  message = message.substr(0, message.find("; last read"));
  for (const std::string_view before : {"] ", "parse error at line ", ": "}) {
    const size_t at = message.find(before);
    if (at == std::string_view::npos) break;
    message.remove_prefix(at + before.size());
  }
  return message;
}

// What the JSON parser reads: the characters where the scanner stands. Without one it is the end.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Characters(TableScanner* scanner) : scanner_(scanner) {}
  reference operator*() const { return *scanner_->place(); }
  Characters& operator++() {
    scanner_->advance();
    return *this;
  }
  Characters operator++(int) {
    const Characters before = *this;
    scanner_->advance();
    return before;
  }
  bool operator==(const Characters& other) const { return at_end() == other.at_end(); }

 private:
  bool at_end() const { return scanner_ == nullptr || scanner_->at_end(); }
  TableScanner* scanner_;
};

// Builds the tree with an explicit stack, and diverts the two tables to the pools. The parser calls
// with one entry of a table, and the scanner reads on from there as far as it can: what is JSON and
// what is not is the parser's to say, and most of the file never gets to it.
class Reader {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Reader(JsonFile& file, std::string_view text, std::string_view name, Tables tables)
      : file_(file), text_(text), name_(name), scanner_(text), tables_(tables) {}
  void read() { Json::sax_parse(Characters(&scanner_), Characters(nullptr), this); }

  bool null() { return value(nullptr); }
  bool boolean(bool flag) { return value(flag); }
  bool number_integer(number_integer_t number) {
    if (mode_ == Mode::Vocab) bad_vocab_id();
    if (mode_ == Mode::ScoredToken) return score(static_cast<double>(number));
    return value(number);
  }
  bool number_unsigned(number_unsigned_t number) {
    if (mode_ == Mode::ScoredToken) return score(static_cast<double>(number));
    if (mode_ != Mode::Vocab) return value(number);
    if (number > static_cast<uint64_t>(kMaxTokenId)) bad_vocab_id();
    file_.vocab_ids.push_back(static_cast<int32_t>(number));
    return true;
  }
  bool number_float(number_float_t number, const string_t& text) {
    if (mode_ != Mode::ScoredToken) return value(number);
    const auto exactly = serde_number(text);
    if (!exactly) bad_scored_token();
    return score(*exactly);
  }
  bool binary(binary_t& /*bytes*/) { return false; }

  bool string(string_t& text) {
    if (mode_ == Mode::Merges) {
      add_merge(text);
      read_merges_ahead();
      return true;
    }
    if (mode_ == Mode::MergePair) {
      file_.merge_parts.add(text);
      ++part_;
      return true;
    }
    if (mode_ == Mode::ScoredToken) {
      if (part_ != 0) bad_scored_token();
      file_.vocab_tokens.add(text);
      ++part_;
      return true;
    }
    return value(std::move(text));
  }

  bool start_object(size_t /*size*/) {
    if (mode_ == Mode::Tree && at_model() && key_ == "vocab") {
      mode_ = Mode::Vocab;
      clear_vocab();
      reserve(file_.vocab_tokens);
      file_.has_vocab = true;
      return true;
    }
    return open(Json::object());
  }
  bool key(string_t& text) {
    if (mode_ == Mode::Vocab) {
      file_.vocab_tokens.add(text);
      read_vocab_ahead();
    } else {
      key_ = std::move(text);
    }
    return true;
  }
  bool end_object() {
    if (mode_ == Mode::Vocab) {
      mode_ = Mode::Tree;
      return true;
    }
    stack_.pop_back();
    return true;
  }

  bool start_array(size_t /*size*/) {
    if (mode_ == Mode::Merges) {
      mode_ = Mode::MergePair;
      part_ = 0;
      return true;
    }
    if (mode_ == Mode::ScoredTokens) {
      mode_ = Mode::ScoredToken;
      part_ = 0;
      return true;
    }
    if (mode_ == Mode::Tree && at_model() && key_ == "vocab") {
      mode_ = Mode::ScoredTokens;
      clear_vocab();
      reserve(file_.vocab_tokens);
      file_.has_scores = true;
      return true;
    }
    if (mode_ == Mode::Tree && at_model() && key_ == "merges") {
      mode_ = Mode::Merges;
      file_.merge_parts.clear();
      reserve(file_.merge_parts);
      file_.has_merges = true;
      return true;
    }
    return open(Json::array());
  }
  bool end_array() {
    if (mode_ == Mode::MergePair) {
      if (part_ != 2) bad_merge();
      mode_ = Mode::Merges;
      read_pairs_ahead();
      return true;
    }
    if (mode_ == Mode::ScoredToken) {
      if (part_ != 2) bad_scored_token();
      mode_ = Mode::ScoredTokens;
      read_scores_ahead();
      return true;
    }
    if (mode_ == Mode::Merges || mode_ == Mode::ScoredTokens) {
      mode_ = Mode::Tree;
      return true;
    }
    stack_.pop_back();
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    position += scanner_.skipped();
    const std::string_view read = text_.substr(0, position);  // up to the byte that is wrong
    const auto line = 1 + std::count(read.begin(), read.end(), '\n');
    const size_t column = position - (read.rfind('\n') + 1);  // npos + 1 is 0
    fail(ErrorCode::InvalidFile, "{}: not valid JSON at byte {} (line {}, column {}): {}", name_,
         position, line, column, reason_in(error.what()));
  }

 private:
  enum class Mode { Tree, Vocab, ScoredTokens, ScoredToken, Merges, MergePair };

  // Space for a table of the rest of the file: an entry is at least so long in most.
  void reserve(StringPool& pool) const { pool.reserve(scanner_.left() / 8, scanner_.left() / 2); }

  // The parser has read no further than to the end of its token, `last`.
  bool may_scan_after(char last) const {
    return tables_ == Tables::Scanned && scanner_.is_after(last);
  }
  void read_vocab_ahead() {
    if (!may_scan_after('"')) return;
    int32_t id = 0;
    std::string_view key;
    while (scanner_.id_and_key(kMaxTokenId, id, key)) {
      file_.vocab_ids.push_back(id);
      file_.vocab_tokens.add(key);
    }
  }
  void read_merges_ahead() {
    if (!may_scan_after('"')) return;
    std::string_view text;
    while (scanner_.next_text(text)) add_merge(text);
  }
  void read_pairs_ahead() {
    if (!may_scan_after(']')) return;
    std::string_view left, right;
    while (scanner_.next_pair(left, right)) {
      file_.merge_parts.add(left);
      file_.merge_parts.add(right);
    }
  }
  void read_scores_ahead() {
    if (!may_scan_after(']')) return;
    std::string_view token;
    double score = 0;
    while (scanner_.next_scored(token, score)) {
      file_.vocab_tokens.add(token);
      file_.vocab_scores.push_back(score);
    }
  }

  // A repeated key replaces what came before, as in other JSON readers.
  void clear_vocab() {
    file_.vocab_tokens.clear();
    file_.vocab_ids.clear();
    file_.vocab_scores.clear();
    file_.has_vocab = file_.has_scores = false;
  }
  bool score(double number) {
    if (part_ != 1) bad_scored_token();
    file_.vocab_scores.push_back(number);
    ++part_;
    return true;
  }
  [[noreturn]] void bad_scored_token() {
    fail(ErrorCode::InvalidFile, "{}: model.vocab: entry {} is not a token and its score", name_,
         file_.vocab_scores.size());
  }

  [[noreturn]] void bad_vocab_id() {
    const size_t last = file_.vocab_tokens.size() - 1;
    fail(ErrorCode::InvalidFile, "{}: model.vocab: the id of token {} is not from 0 to {}", name_,
         last, kMaxTokenId);
  }
  [[noreturn]] void bad_merge() {
    fail(ErrorCode::InvalidFile, "{}: model.merges: merge {} is not two tokens", name_,
         file_.merge_parts.size() / 2);
  }

  bool at_model() const { return stack_.size() == 2 && model_ == stack_.back(); }

  // "a b": two tokens and one space, nothing else.
  void add_merge(std::string_view text) {
    if (text.starts_with("#version")) return;
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      bad_merge();
    }
    file_.merge_parts.add(text.substr(0, space));
    file_.merge_parts.add(text.substr(space + 1));
  }

  Json* place(Json&& item) {
    if (mode_ == Mode::Vocab) bad_vocab_id();
    if (mode_ == Mode::ScoredTokens || mode_ == Mode::ScoredToken) bad_scored_token();
    if (mode_ != Mode::Tree) bad_merge();
    if (stack_.empty()) {
      *file_.root = std::move(item);
      return file_.root.get();
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(item));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(item);
    return &slot;
  }
  template <typename T>
  bool value(T&& item) {
    place(Json(std::forward<T>(item)));
    return true;
  }
  bool open(Json&& container) {
    if (stack_.size() >= kMaxDepth) {
      fail(ErrorCode::InvalidFile, "{}: more than {} levels of nesting", name_, kMaxDepth);
    }
    const bool is_model = mode_ == Mode::Tree && stack_.size() == 1 && key_ == "model";
    stack_.push_back(place(std::move(container)));
    if (is_model) model_ = stack_.back();
    return true;
  }

  JsonFile& file_;
  std::string_view text_, name_;
  TableScanner scanner_;
  Tables tables_;
  std::vector<Json*> stack_;  // open containers; a parent does not move while a child is open
  const Json* model_ = nullptr;
  std::string key_;
  Mode mode_ = Mode::Tree;
  int part_ = 0;
};

}  // namespace

JsonFile::JsonFile() : root(std::make_unique<Json>()) {}
JsonFile::JsonFile(JsonFile&&) noexcept = default;
JsonFile::~JsonFile() = default;

JsonFile read_json_file(std::string_view text, std::string_view name, Tables tables) {
  if (text.size() > kMaxFileBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", name, text.size(),
         kMaxFileBytes);
  }
  JsonFile file;
  Reader reader(file, text, name, tables);
  try {
    reader.read();
  } catch (const Json::exception& error) {
    fail(ErrorCode::InvalidFile, "{}: not valid JSON: {}", name, error.what());
  }
  if (!file.root->is_object()) fail(ErrorCode::InvalidFile, "{}: not a JSON object", name);
  return file;
}

}  // namespace pippin::tokenizers
