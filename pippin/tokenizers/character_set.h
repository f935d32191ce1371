// Sets of characters as patterns name them: code points, general categories and other Unicode
// properties, their unions, intersections and complements. PCRE2's tables say what a property
// holds, so that one version of Unicode decides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/code_points.h"

namespace pippin::tokenizers {

// PCRE2's classes know unions and one complement around them; while a set can be said so, it is
// kept by its names, which match fastest. Other sets become the code points that they hold.
class CharacterSet {
 public:
  CharacterSet() = default;  // of nothing
  CharacterSet(char32_t first, char32_t last) : code_points_{{first, last}} {}
  explicit CharacterSet(CodePoints code_points) : code_points_(std::move(code_points)) {}
  // "Lu", or "L" for all whose name begins with it; `name` is such a name.
  static CharacterSet category(std::string_view name);
  // What PCRE2 knows as \p{name}, which is not checked: see is_property().
  static CharacterSet property(std::string name);
  static bool is_property(std::string_view name);

  CharacterSet complement() const;
  friend CharacterSet operator|(const CharacterSet& a, const CharacterSet& b);
  friend CharacterSet operator&(const CharacterSet& a, const CharacterSet& b);

  // With surrogates or without: no text has them. Slow for the first set that names a property
  // (milliseconds), which is kept from then on.
  CodePoints code_points() const;
  // "[...]", or "\p{...}"; for PCRE2_UTF, without PCRE2_CASELESS.
  std::string pcre2() const;

 private:
  struct Property {
    std::string name;
    bool negated;
  };
  bool can_be_positive() const;
  CharacterSet positive() const;

  CodePoints code_points_;
  uint32_t categories_ = 0;  // a bit for each
  std::vector<Property> properties_;
  bool negated_ = false;
};

}  // namespace pippin::tokenizers
