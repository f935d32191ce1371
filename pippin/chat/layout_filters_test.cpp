// Errors and limits; rendered_test.cpp compares results with Jinja2's.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/chat/html_text.h"
#include "pippin/chat/template.h"
#include "pippin/chat/word_wrap.h"

namespace pippin::chat {
namespace {

std::string render(const std::string& source) {
  RenderOptions options;
  options.limits.steps = 200'000;
  options.limits.bytes = 16 << 20;
  return Template::parse(source).render(Value(Dict()), options);
}

TEST(LayoutFilters, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"'a'|wordwrap(0)", "invalid width 0 (must be > 0)"},
      {"'a'|wordwrap(-1)", "invalid width -1 (must be > 0)"},
      {"'a'|wordwrap(1.5)", "wordwrap() width must be int, not float"},
      {"'a'|wordwrap(none)", "wordwrap() width must be int, not NoneType"},
      {"'a'|wordwrap(5, wrapstring=1)", "wordwrap() wrapstring must be str"},
      {"none|wordwrap", "'NoneType' object has no attribute 'splitlines'"},
      {"x|wordwrap", "'x' is undefined"},
      {"'q'|filesizeformat", "could not convert string to float: 'q'"},
      {"none|filesizeformat", "float() argument must be a string or a real number, not 'NoneType'"},
      {"(10**400)|filesizeformat", "int too large to convert to float"},
      {"'-inf'|filesizeformat", "cannot convert float infinity to integer"},
      {"x|filesizeformat", "'x' is undefined"},
      {"{'a b': 1}|xmlattr", "Invalid character in attribute name: 'a b'"},
      {"{1: 1}|xmlattr", "an attribute's name must be str, not int"},
      {"[]|xmlattr", "'list' object has no attribute 'items'"},
      {"{(1, 'a'): 1, (1, 2): 2}|pprint", "'<' not supported between instances of"},
      {"'a'|pprint(1)", "pprint"},
      {"{'a': 1}|urlencode", "urlencode of a dict is not supported"},
      {"'a'.expandtabs(99999999999)", "expandtabs(): 99999999999 is too large"},
      {"'a'.expandtabs('1')", "expandtabs() argument must be int, not str"},
  };
  for (const auto& [source, message] : cases) {
    EXPECT_ERROR(render("{{ " + std::string(source) + " }}"), ErrorCode::InvalidArgument, message);
  }
}

TEST(LayoutFilters, CharactersNumbersAreBounded) {
  EXPECT_EQ(unescape_html("&#" + std::string(4300, '1') + ";"), "\uFFFD");
  EXPECT_ERROR(unescape_html("&#" + std::string(4301, '1') + ";"), ErrorCode::InvalidArgument,
               "a character's number has 4301 digits, more than 4300");
  EXPECT_EQ(unescape_html("&#x" + std::string(5000, '0') + "41"), "A");
}

TEST(LayoutFilters, LimitsHold) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ ('\\t' * 1000).expandtabs(2000000000) }}", "too much text is made"},
      {"{{ ('a ' * 100000)|wordwrap(1, wrapstring='x' * 1000) }}", "too much text is made"},
      {"{% set ns = namespace(x=['a']) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% endfor %}{{ ns.x|pprint }}",
       "too many steps"},
      {"{% set s = 'a' * 1000000 %}{{ ([s] * 1000)|pprint }}", "too much text is made"},
      {"{% set s = ('a ' * 100)|safe %}{{ {'a': [s] * 100000}|xmlattr }}",
       "a value's text is too large"},
  };
  for (const auto& [source, message] : cases) {
    EXPECT_ERROR(render(source), ErrorCode::LimitExceeded, message);
  }
}

// With a quadratic algorithm, each would take minutes.
TEST(LayoutFilters, LongTextsTakeNoLongTime) {
  constexpr size_t kMany = 1 << 20;
  EXPECT_EQ(strip_tags(std::string(kMany, '<')).size(), kMany);
  std::string comments;
  for (size_t i = 0; i < kMany / 8; ++i) comments += "<!--x-->";
  EXPECT_EQ(strip_tags(comments), "");
  EXPECT_EQ(unescape_html(std::string(kMany, '&')).size(), kMany);
  EXPECT_EQ(wrap_words(std::string(kMany, '-'), {}).size(), (kMany + 78) / 79);
  EXPECT_EQ(wrap_words(std::string(kMany, 'x'), {1, true, true}).size(), kMany);
}

}  // namespace
}  // namespace pippin::chat
