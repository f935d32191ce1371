// Sets of characters as patterns name them: code points, general categories and other Unicode
// properties, and their unions, intersections and complements. PCRE2's tables define the
// properties, so that all sets follow one version of Unicode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/unicode/code_points.h"

namespace pippin::tokenizers {

// PCRE2's classes support unions and one complement around them. A set of this form is kept by its
// names, which match fastest; other sets are expanded to code points.
class CharacterSet {
 public:
  CharacterSet() = default;  // empty
  CharacterSet(char32_t first, char32_t last) : code_points_{{first, last}} {}
  explicit CharacterSet(CodePoints code_points) : code_points_(std::move(code_points)) {}
  // `name` is a general category such as "Lu", or "L" for all categories that begin with it.
  static CharacterSet category(std::string_view name);
  // PCRE2's \p{name}; the name is not checked (see is_property()).
  static CharacterSet property(std::string name);
  static bool is_property(std::string_view name);

  CharacterSet complement() const;
  friend CharacterSet operator|(const CharacterSet& a, const CharacterSet& b);
  friend CharacterSet operator&(const CharacterSet& a, const CharacterSet& b);

  // May or may not include surrogates, which no text contains. The first set that names a property
  // takes milliseconds; the result is cached.
  CodePoints code_points() const;
  // Returns "[...]" or "\p{...}", for PCRE2_UTF without PCRE2_CASELESS.
  std::string pcre2() const;

 private:
  struct Property {
    std::string name;
    bool negated;
  };
  bool can_be_positive() const;
  CharacterSet positive() const;

  CodePoints code_points_;
  uint32_t categories_ = 0;  // one bit per category
  std::vector<Property> properties_;
  bool negated_ = false;
};

}  // namespace pippin::tokenizers
