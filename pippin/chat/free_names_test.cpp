#include "pippin/chat/free_names.h"

#include <gtest/gtest.h>

#include "pippin/chat/chat_template.h"
#include "pippin/chat/parser.h"

namespace pippin::chat {
namespace {

using NameSet = std::set<std::string>;

NameSet names_of(std::string_view source) {
  return free_names(parse(source));
}

TEST(FreeNames, AreReadBeforeTheyAreSet) {
  EXPECT_EQ(names_of("{{ a }}{{ b.c[d] }}{{ 'e' }}{# f #}g"), (NameSet{"a", "b", "d"}));
  EXPECT_EQ(names_of("{% set a = b %}{{ a }}"), (NameSet{"b"}));
  EXPECT_EQ(names_of("{% set a = a %}"), (NameSet{"a"}));
  EXPECT_EQ(names_of("{% set a, b = c %}{{ a + b }}"), (NameSet{"c"}));
  EXPECT_EQ(names_of("{% set n.a = b %}{{ a }}"), (NameSet{"a", "b"}));
  EXPECT_EQ(names_of("{% set a %}{{ b }}{% set c = 1 %}{% endset %}{{ a }}{{ c }}"),
            (NameSet{"b", "c"}));
  EXPECT_EQ(names_of("{{ a | default(b, boolean=c) }}{{ d is sameas(e) }}{{ f(*g, **h) }}"),
            (NameSet{"a", "b", "c", "d", "e", "f", "g", "h"}));
}

TEST(FreeNames, AreSetOnEveryWay) {
  EXPECT_EQ(names_of("{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}"), (NameSet{"a"}));
  EXPECT_EQ(names_of("{% if b %}{% set a = 1 %}{% endif %}{{ a }}"), (NameSet{"a", "b"}));
  EXPECT_EQ(names_of("{% if b %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}"),
            (NameSet{"b"}));
  EXPECT_EQ(names_of("{% if b %}{% set a = 1 %}{% elif c %}{% else %}{% set a = 2 %}{% endif %}"
                     "{{ a }}"),
            (NameSet{"a", "b", "c"}));
}

TEST(FreeNames, EndWithTheirScopes) {
  EXPECT_EQ(names_of("{% for a, b in c if a %}{{ a + b + loop.index }}{% set d = 1 %}{{ d }}"
                     "{% else %}{{ a }}{% endfor %}{{ d }}"),
            (NameSet{"a", "c", "d"}));
  EXPECT_EQ(names_of("{% macro m(a, b=c) %}{{ a + b + d }}{{ varargs }}{% endmacro %}{{ m(e) }}"
                     "{{ a }}"),
            (NameSet{"a", "c", "d", "e"}));
  EXPECT_EQ(names_of("{% macro m() %}{{ caller(1) }}{% endmacro %}"
                     "{% call(a) m() %}{{ a + b }}{% endcall %}"),
            (NameSet{"b"}));
  EXPECT_EQ(names_of("{% with a = b, c = a %}{{ a + c }}{% endwith %}{{ c }}"),
            (NameSet{"a", "b", "c"}));
  EXPECT_EQ(names_of("{% filter upper %}{{ a }}{% endfilter %}"
                     "{% generation %}{{ b }}{% endgeneration %}"),
            (NameSet{"a", "b"}));
}

// "thinking" is a word of many templates; a variable of the request's it is of few.
TEST(FreeNames, OfSwitches) {
  const auto reads = [](std::string_view source) {
    return ChatTemplate::from_source(source, {}).reads("thinking");
  };
  EXPECT_TRUE(
      reads("{% if not thinking is defined %}{% set thinking = false %}{% endif %}"
            "{{ '<think>' if thinking else '</think>' }}"));
  EXPECT_TRUE(reads("{%- if thinking %}Think first.{% endif %}"));
  EXPECT_FALSE(
      reads("{% for m in messages %}{% if m.thinking %}{{ m['thinking'] }}{% endif %}"
            "{% set thinking = m.reasoning %}{% if thinking %}<thinking>{{ thinking }}"
            "{% endif %}{% endfor %}"));
}

}  // namespace
}  // namespace pippin::chat
