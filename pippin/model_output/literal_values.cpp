#include "pippin/model_output/literal_values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/model_output/json_scanner.h"

namespace pippin::model_output {
namespace {

constexpr int kMaxNesting = 100;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+' ||
         c == '-';
}

// The common part of both notations: brackets, commas, and words.
class Reader {
 public:
  Reader(std::string_view text, size_t position) : text_(text), at_(position) {}
  virtual ~Reader() = default;
  size_t position() const { return at_; }

  Found value(std::string& json, int depth = 0) {
    if (depth > kMaxNesting) return Found::No;
    if (const Found string = quoted(json); string != Found::No) return string;
    skip();
    if (at_ == text_.size()) return Found::More;
    const char c = text_[at_];
    if (c == '[') return list(']', json, depth);
    if (c == '{') return dict(json, depth);
    if (c == '(' && has_tuples()) return list(')', json, depth);
    return word(json);
  }

 protected:
  // Reads a string; returns No if none begins here.
  virtual Found quoted(std::string& json) = 0;
  virtual Found key(std::string& json) = 0;
  virtual bool has_tuples() const { return false; }

  void skip() { at_ = skip_blanks(text_, at_); }
  // Reads the separator, or the end of a list or dict.
  Found next(char close, bool& is_over) {
    skip();
    if (at_ == text_.size()) return Found::More;
    if (text_[at_] == ',') {
      ++at_;
      skip();
      if (at_ == text_.size()) return Found::More;
    } else if (text_[at_] != close) {
      return Found::No;
    }
    is_over = text_[at_] == close;  // also after a trailing comma
    if (is_over) ++at_;
    return Found::Yes;
  }

  std::string_view text_;
  size_t at_;

 private:
  // `item` reads one item, up to the separator.
  template <typename Item>
  Found items(char close, std::string& json, const Item& item) {
    ++at_;
    skip();
    if (at_ == text_.size()) return Found::More;
    bool is_over = text_[at_] == close;
    if (is_over) ++at_;
    for (bool is_first = true; !is_over; is_first = false) {
      if (!is_first) json += ", ";
      if (const Found found = item(); found != Found::Yes) return found;
      if (const Found found = next(close, is_over); found != Found::Yes) return found;
    }
    return Found::Yes;
  }
  Found list(char close, std::string& json, int depth) {
    json += '[';
    const Found found = items(close, json, [&] { return value(json, depth + 1); });
    json += ']';
    return found;
  }
  Found dict(std::string& json, int depth) {
    json += '{';
    const Found found = items('}', json, [&] {
      if (const Found named = key(json); named != Found::Yes) return named;
      skip();
      if (at_ == text_.size()) return Found::More;
      if (text_[at_] != ':') return Found::No;
      ++at_;
      json += ": ";
      return value(json, depth + 1);
    });
    json += '}';
    return found;
  }
  // Reads a number, or a name for true, false or null.
  Found word(std::string& json) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) return Found::No;
    if (at_ == text_.size()) return Found::More;
    std::string spelled(text_.substr(begin, at_ - begin));
    std::erase(spelled, '_');
    // Python allows 1. and .5
    if (spelled.ends_with('.')) spelled += '0';
    if (spelled.starts_with('.')) spelled.insert(0, "0");
    JsonScanner scanner;
    size_t end = 0;
    if (scanner.push(spelled, end, json) == JsonScanner::Status::Broken) return Found::No;
    return scanner.finish(json) == JsonScanner::Status::Done ? Found::Yes : Found::No;
  }
};

class PythonReader final : public Reader {
 public:
  using Reader::Reader;

 private:
  bool has_tuples() const override { return true; }
  Found key(std::string& json) override { return quoted(json); }

  Found quoted(std::string& json) override {
    skip();
    if (at_ == text_.size()) return Found::More;
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') return Found::No;
    size_t at = at_;
    std::string mark(1, quote);
    const std::string triple(3, quote);
    const std::string_view here = text_.substr(at);
    if (here.starts_with(triple)) {
      mark = triple;
    } else if (here.size() < 3 && here == std::string_view(triple).substr(0, here.size())) {
      return Found::More;
    }
    at += mark.size();
    std::string text;
    while (true) {
      if (at == text_.size()) return Found::More;
      const std::string_view rest = text_.substr(at);
      if (rest.starts_with(mark)) break;
      if (mark.size() == 3 && rest.size() < 3 && mark.starts_with(rest)) return Found::More;
      if (text_[at] == '\\') {
        if (const Found found = escape(at, text); found != Found::Yes) return found;
      } else {
        text += text_[at++];
      }
    }
    at_ = at + mark.size();
    json += json_string(text);
    return Found::Yes;
  }

  // Reads an escape, at the backslash.
  Found escape(size_t& at, std::string& text) {
    if (at + 1 == text_.size()) return Found::More;
    const char c = text_[at + 1];
    constexpr std::string_view kNames = "nrtbfav0", kBytes("\n\r\t\b\f\a\v\0", 8);
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
      const std::string_view code = text_.substr(at + 2, digits);
      uint32_t point = 0;
      const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), point, 16);
      if (code.size() < digits) return Found::More;
      if (error != std::errc() || end != code.data() + digits || point > 0x10FFFF) return Found::No;
      append_utf8(text, point);
      at += 2 + digits;
      return Found::Yes;
    }
    if (const size_t name = kNames.find(c); name != std::string_view::npos) {
      text += kBytes[name];
    } else if (c == '\\' || c == '\'' || c == '"') {
      text += c;
    } else if (c != '\n') {  // a line continuation
      text += {'\\', c};
    }
    at += 2;
    return Found::Yes;
  }
};

class QuotedReader final : public Reader {
 public:
  QuotedReader(std::string_view text, size_t position, std::string_view quote)
      : Reader(text, position), quote_(quote) {}

 private:
  Found quoted(std::string& json) override {
    size_t at = at_;
    const Found begins = take_mark(text_, at, quote_);
    if (begins != Found::Yes) return begins;
    const size_t end = text_.find(quote_, at);
    if (end == std::string_view::npos) return Found::More;
    json += json_string(text_.substr(at, end - at));
    at_ = end + quote_.size();
    return Found::Yes;
  }
  Found key(std::string& json) override {
    if (const Found found = quoted(json); found != Found::No) return found;
    const size_t end = text_.find_first_of(":,{}[]", at_);
    if (end == std::string_view::npos) return Found::More;
    const std::string_view name = mark_of(text_.substr(at_, end - at_));
    if (name.empty() || text_[end] != ':') return Found::No;
    json += json_string(name);
    at_ = end;
    return Found::Yes;
  }

  std::string_view quote_;
};

Found read(Reader&& reader, size_t& position, std::string& json) {
  std::string value;
  const Found found = reader.value(value);
  if (found != Found::Yes) return found;
  position = reader.position();
  json += value;
  return found;
}

}  // namespace

Found read_python_value(std::string_view text, size_t& position, std::string& json) {
  return read(PythonReader(text, position), position, json);
}

Found read_quoted_value(std::string_view text, size_t& position, std::string_view quote,
                        std::string& json) {
  return read(QuotedReader(text, position, quote), position, json);
}

std::string json_string(std::string_view text) {
  JsonWriter json;
  return json.value(text).text();
}

}  // namespace pippin::model_output
