// A compiled pattern of tokenizer.json.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

struct TextRange {
  size_t begin;
  size_t end;
};

// Thread-safe.
class Regex {
 public:
  // `pattern` is in Oniguruma's syntax. Throws Unsupported with `place` if the pattern is broken,
  // or if PCRE2 cannot run it with the same meaning.
  Regex(std::string_view pattern, std::string_view place);

  // Returns all matches in order, without overlaps. `text` must be valid UTF-8. Throws
  // LimitExceeded if the pattern needs too many steps for the length of the text.
  std::vector<TextRange> find_all(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace pippin::tokenizers
