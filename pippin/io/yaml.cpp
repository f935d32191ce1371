#include "pippin/io/yaml.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/text.h"

namespace pippin {
namespace {

// YAML's numbers may have a plus sign.
template <typename T>
bool read_number(std::string_view text, T& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number(text, number);
}

bool looks_like_number(std::string_view text) {
  return text.find_first_not_of("+-.0123456789eE") == text.npos &&
         text.find_first_of("0123456789") != text.npos;
}

// Writes the parser's events as JSON. Keeps only the text and the path to the current node.
class Events : public YAML::EventHandler {
 public:
  Events(const std::string& name, const YamlLimits& limits) : name_(name), limits_(limits) {}

  std::string text() const { return empty_ ? "null" : writer_.text(); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    count(mark);
    if (take_key("", mark)) return;
    writer_.value(nullptr);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(ErrorCode::Unsupported, "{}: line {}: aliases are not read", name_, mark.line + 1);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    count(mark);
    if (!is_valid_utf8(value)) {
      fail(ErrorCode::InvalidFile, "{}: line {}: not UTF-8", name_, mark.line + 1);
    }
    if (take_key(value, mark)) return;
    write_scalar(value, tag == "?" || tag.empty());
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    enter(mark, false);
    writer_.begin_array();
  }
  void OnSequenceEnd() override {
    leave();
    writer_.end_array();
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    enter(mark, true);
    writer_.begin_object();
  }
  void OnMapEnd() override {
    leave();
    writer_.end_object();
  }

 private:
  struct Level {
    bool is_map;
    bool key_next;
  };

  void count(const YAML::Mark& mark) {
    empty_ = false;
    if (++values_ > limits_.max_values) {
      fail(ErrorCode::LimitExceeded, "{}: line {}: more than {} values", name_, mark.line + 1,
           limits_.max_values);
    }
  }

  // Returns whether the scalar was a key.
  bool take_key(const std::string& value, const YAML::Mark& mark) {
    if (levels_.empty() || !levels_.back().is_map) return false;
    Level& level = levels_.back();
    level.key_next = !level.key_next;
    if (level.key_next) return false;
    if (value.empty()) {
      fail(ErrorCode::InvalidFile, "{}: line {}: an empty key", name_, mark.line + 1);
    }
    writer_.key(value);
    return true;
  }

  void enter(const YAML::Mark& mark, bool is_map) {
    count(mark);
    if (!levels_.empty() && levels_.back().is_map) {
      if (levels_.back().key_next) {
        fail(ErrorCode::Unsupported, "{}: line {}: a key that is not a scalar", name_,
             mark.line + 1);
      }
      levels_.back().key_next = true;
    }
    if (static_cast<int>(levels_.size()) == limits_.max_depth) {
      fail(ErrorCode::LimitExceeded, "{}: line {}: nested more than {} deep", name_, mark.line + 1,
           limits_.max_depth);
    }
    levels_.push_back({is_map, true});
  }
  void leave() { levels_.pop_back(); }

  void write_scalar(const std::string& value, bool plain) {
    if (plain && write_typed(value)) return;
    writer_.value(value);
  }

  // Writes a plain scalar by YAML's core schema; returns false if it is text.
  bool write_typed(const std::string& value) {
    int64_t integer = 0;
    double number = 0;
    if (value == "null" || value == "~" || value == "Null" || value == "NULL") {
      writer_.value(nullptr);
    } else if (value == "true" || value == "True" || value == "TRUE") {
      writer_.value(true);
    } else if (value == "false" || value == "False" || value == "FALSE") {
      writer_.value(false);
    } else if (looks_like_number(value) && read_number(value, integer)) {
      writer_.value(integer);
    } else if (looks_like_number(value) && read_number(value, number) && std::isfinite(number)) {
      writer_.value(number);
    } else {
      return false;
    }
    return true;
  }

  const std::string& name_;
  const YamlLimits& limits_;
  JsonWriter writer_;
  std::vector<Level> levels_;
  size_t values_ = 0;
  bool empty_ = true;
};

// yaml-cpp scans brackets ahead of its events and recursively, so deep nesting is rejected before
// parsing. Brackets in strings and comments count, too; real files do not have that many.
void check_nesting(std::string_view text, const std::string& name, int max_depth) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') depth = std::max(depth - 1, 0);
    if (depth > 16 * max_depth) {
      fail(ErrorCode::LimitExceeded, "{}: nested more than {} deep", name, max_depth);
    }
  }
}

}  // namespace

Json parse_yaml(std::string_view text, const std::string& name, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", name, text.size(),
         limits.max_bytes);
  }
  check_nesting(text, name, limits.max_depth);
  Events events(name, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(events);
  } catch (const YAML::Exception& error) {
    fail(ErrorCode::InvalidFile, "{}: line {}: {}", name, error.mark.line + 1, error.msg);
  }
  return Json::parse(events.text(), name);
}

Json load_yaml(const std::filesystem::path& path, const YamlLimits& limits) {
  return parse_yaml(read_file(path, limits.max_bytes), path.filename().string(), limits);
}

}  // namespace pippin
