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

// Safe to use from many threads at once.
class Regex {
 public:
  // `pattern` is in Oniguruma's syntax. Throws Unsupported with `place` for a pattern that is
  // broken or that PCRE2 cannot be made to run alike.
  Regex(std::string_view pattern, std::string_view place);

  // All matches in order, none inside another; `text` is valid UTF-8. Throws LimitExceeded where
  // the pattern needs more steps than its text is worth.
  std::vector<TextRange> find_all(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace pippin::tokenizers
