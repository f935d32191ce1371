#include "pippin/chat/template.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/chat/json.h"

namespace pippin::chat {
namespace {

Value context() {
  return parse_json(R"({"s": "Héllo", "n": 3, "f": 1.5, "t": true, "none": null, "list": [1, 2, 3],
      "users": [{"name": "b", "age": 2}, {"name": "A", "age": 1}], "d": {"z": 1, "a": "x"},
      "html": "<a>"})",
                    "context");
}

std::string render(const std::string& source) {
  return Template::parse(source).render(context());
}

Error failure(const std::string& source) {
  RenderOptions options;
  options.limits.steps = 200'000;
  options.limits.bytes = 16 << 20;
  try {
    const std::string text = Template::parse(source).render(context(), options);
    return Error(ErrorCode::Internal, "no error but: " + text);
  } catch (const Error& error) {
    return error;
  }
}

// {{ expression }} and its result.
TEST(Template, Expressions) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 + 2 * 3", "7"},
      {"7 // 2 ~ 7 % 3 ~ -7 // 2 ~ -7 % 3", "31-42"},
      {"2 ** 10", "1024"},
      {"7 / 2", "3.5"},
      {"1e3", "1000.0"},
      {"0x1F + 1_000", "1031"},
      {"'a' 'b' + \"c\\n\\u00e9\"", "abc\né"},
      {"n if t else 'no'", "3"},
      {"'x' if none", ""},
      {"1 < 2 < 3 and not 3 < 2", "True"},
      {"2 in list and 'l' in s and 'z' in d and 5 not in list", "True"},
      {"none or 'x'", "x"},
      {"[1, 'a', none, true, 1.0, (1,), {'k': 2}]", "[1, 'a', None, True, 1.0, (1,), {'k': 2}]"},
      {"\"it's\"|list|first ~ [\"it's\", 'q\"']", "i[\"it's\", 'q\"']"},
      {"s[1] ~ s[-1] ~ s[1:3] ~ s[::-1]", "éoélolléH"},
      {"list[1:] ~ list[:-1] ~ list[::2]", "[2, 3][1, 2][1, 3]"},
      {"d.z ~ d['a'] ~ d.get('q', 5) ~ d.missing", "1x5"},
      {"d.items()|list", "[('z', 1), ('a', 'x')]"},
      {"users[0].name ~ users.0.age", "b2"},
      {"s.upper() ~ s|lower ~ 'a b'.split() ~ 'a,b,c'.split(',', 1)",
       "HÉLLOhéllo['a', 'b']['a', 'b,c']"},
      {"' x '.strip() ~ 'xxyx'.rstrip('x') ~ 'abc'.replace('b', '-') ~ 'a'.startswith(('b', 'a'))",
       "xxxya-cTrue"},
      {"s|length ~ list|length ~ d|count", "532"},
      {"list|join('-') ~ users|join(',', attribute='name')", "1-2-3b,A"},
      {"users|map(attribute='name')|join ~ list|map('string')|list", "bA['1', '2', '3']"},
      {"users|selectattr('age', 'gt', 1)|map(attribute='name')|first", "b"},
      {"users|rejectattr('age', 'equalto', 1)|list|length", "1"},
      {"list|select('odd')|list ~ list|reject('odd')|list", "[1, 3][2]"},
      {"users|sort(attribute='name')|map(attribute='age')|list", "[1, 2]"},
      {"d|dictsort", "[('a', 'x'), ('z', 1)]"},
      {"list|sum ~ list|max ~ list|min ~ list|last ~ list|reverse|list", "6313[3, 2, 1]"},
      {"missing|default('d') ~ ''|default('e', true) ~ none|default('x')", "deNone"},
      {"('3'|int + '4.5'|float) ~ 'q'|int(7)", "7.57"},
      {"2.5|round ~ 2.567|round(2) ~ 2.1|round(0, 'ceil') ~ -3|abs", "2.02.573.03"},
      {"'a\\nb'|indent(2) ~ '<'|e", "a\n  b&lt;"},
      {"html|safe + html", "<a>&lt;a&gt;"},
      {"'%s-%03d' % ('a', 7) ~ '{}{x}'.format(1, x=2)", "a-00712"},
      {"d|tojson ~ 'é\"/'|tojson", "{\"z\": 1, \"a\": \"x\"}\"é\\\"/\""},
      {"d|tojson(indent=2)", "{\n  \"z\": 1,\n  \"a\": \"x\"\n}"},
      {"range(3)|list ~ range(5, 1, -2)|list", "[0, 1, 2][5, 3]"},
      {"dict(a=1)|tojson ~ namespace(x=3).x", "{\"a\": 1}3"},
      {"missing is defined ~ s is string ~ d is mapping ~ none is none ~ n is number",
       "FalseTrueTrueTrueTrue"},
      {"list is iterable ~ 4 is divisibleby 2 ~ n is not odd ~ 1 is sameas true",
       "TrueTrueFalseFalse"},
      {"{'a': {'b': 1}}", "{'a': {'b': 1}}"},
      {"[[1, [2, 3]]].0.1.0 ~ dict(**d).z ~ '%s' % range(*[1, 2])|list|first", "211"},
      {"'a'.ljust(2, '-') ~ 'a'.rjust(2) ~ '-7'.zfill(4)", "a- a-007"},
      {"1.0 == 1 and true == 1", "True"},
      {"'abc'|title ~ 'hello world'.title() ~ 'aBC'|capitalize", "AbcHello WorldAbc"},
      {"[1, 1, 2]|unique|list ~ list|batch(2)|list", "[1, 2][[1, 2], [3]]"},
      {"users|groupby('age')|map('first')|list", "[1, 2]"},
  };
  for (const auto& [source, expected] : cases) {
    EXPECT_EQ(render("{{ " + std::string(source) + " }}"), expected) << source;
  }
}

TEST(Template, Statements) {
  const std::pair<const char*, const char*> cases[] = {
      {"{% if n > 5 %}a{% elif n > 2 %}b{% else %}c{% endif %}", "b"},
      {"{% for x in list %}{{ loop.index }}{{ x }}{{ ',' if not loop.last }}{% endfor %}",
       "11,22,33"},
      {"{% for x in list if x > 1 %}{{ loop.first }}{{ x }}{% else %}none{% endfor %}",
       "True2False3"},
      {"{% for x in [] %}{% else %}none{% endfor %}", "none"},
      {"{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", "z1ax"},
      {"{% for x in list %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "13"},
      {"{% for x in list %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "1"},
      {"{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is sequence else x }}{% endfor %}",
       "123"},
      {"{% set a = 1 %}{% for x in list %}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }}", "2221"},
      {"{% set ns = namespace(a=0) %}{% for x in list %}{% set ns.a = ns.a + x %}{% endfor %}{{ "
       "ns.a }}",
       "6"},
      {"{% set a, b = 1, 2 %}{{ b }}{{ a }}", "21"},
      {"{% set x %}a{{ n }}{% endset %}{{ x }}{{ x|length }}", "a32"},
      {"{% set x | upper %}ab{% endset %}{{ x }}", "AB"},
      {"{% macro m(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}",
       "[1d][32]"},
      {"{% macro m() %}{{ varargs|join }}{{ kwargs.k }}{% endmacro %}{{ m(1, 2, k=3) }}", "123"},
      {"{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) m(4) %}{{ x }}!{% endcall %}",
       "<4!>"},
      {"{% macro f(x) %}{{ x if x < 2 else x * f(x - 1)|int }}{% endmacro %}{{ f(5) }}", "120"},
      {"{% filter upper %}a{{ s }}{% endfilter %}", "AHÉLLO"},
      {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "3"},
      {"{% generation %}a{% endgeneration %}", "a"},
      {"{% raw %}{{ a }}{% endraw %}", "{{ a }}"},
      {"a{# comment #}b", "ab"},
      {"{% for x in list %}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.revindex }}{% "
       "endfor %}",
       "a3b12a21"},
      {"{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}", "TrueFalseTrue"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(render(source), expected) << source;
}

TEST(Template, WhiteSpace) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n  {% if t %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
      {"a \n {%- if t -%} \n b {%- endif -%} \n c", "abc"},
      {"a\n  {%+ if t %}b{% endif +%}\nc", "a\n  b\nc"},
      {"  {{ n }}\n  {{- n -}}  \n x", "  33x"},
      {"a\n  {# c #}\nb", "a\nb"},
      {"x\r\ny\r", "x\ny"},
      {"a\n\n", "a\n"},
      {" {% if t %} x {% endif %} ", " x  "},
      {"{{ '}}' }}{{ {'a': {}}['a'] }}", "}}{}"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(render(source), expected) << source;
}

TEST(Template, MistakesNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"\n{{ x.y }}", "line 2: 'x' is undefined"},
      {"{{ 'a' + 1 }}", "can only concatenate str (not \"int\") to str"},
      {"{{ list.append(4) }}", "templates cannot change a list"},
      {"{{ none.x() }}", "'None' has no attribute 'x'"},
      {"{{ 1 / 0 }}", "division by zero"},
      {"{{ raise_exception('Oh') }}", "Oh"},
      {"{{ s | nothing }}", "no filter named 'nothing'"},
      {"{{ s is nothing }}", "no test named 'nothing'"},
      {"{% for x in none %}{% endfor %}", "'NoneType' object is not iterable"},
      {"{% set d.x = 1 %}", "cannot assign attribute on non-namespace object"},
      {"{{ (list | map('upper')) | tojson }}", "Object of type generator is not JSON serializable"},
      {"{{ 10 ** 5000 }}", "a number of more than 4300 digits"},
      {"{{ 9223372036854775808 // 0 }}", "division by zero"},
  };
  for (const auto& [source, expected] : cases) {
    const Error error = failure(source);
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << source;
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

// Like Python's integers.
TEST(Template, IntegersHaveAnySize) {
  const Value given = parse_json(
      R"({"a": 9223372036854775808, "b": -99999999999999999999, "c": 18446744073709551615,
          "d": {"k": [123456789012345678901234567890]}, "e": 1e20, "f": 9223372036854775807})",
      "context");
  const auto render_given = [&](const std::string& source) {
    return Template::parse(source).render(given);
  };
  EXPECT_EQ(render_given("{{ a }} {{ b }} {{ c }} {{ d }} {{ e }}"),
            "9223372036854775808 -99999999999999999999 18446744073709551615 "
            "{'k': [123456789012345678901234567890]} 1e+20");
  EXPECT_EQ(render_given("{{ d | tojson }} {{ {a: 1} | tojson }} {{ '%d|%s' % (a, b) }}"),
            "{\"k\": [123456789012345678901234567890]} {\"9223372036854775808\": 1} "
            "9223372036854775808|-99999999999999999999");
  EXPECT_EQ(render_given("{{ f + 1 }} {{ f + 1 == a }} {{ a - 1 == f }} {{ a > f }} {{ b < 0 }} "
                         "{{ -b }} {{ b | abs }} {{ a is integer }} {{ a is number }} {{ a / 2 }}"),
            "9223372036854775808 True True True True 99999999999999999999 99999999999999999999 "
            "True True 4.611686018427388e+18");
  EXPECT_EQ(render_given("{{ '99999999999999999999' | int }} {{ 99999999999999999999 }} {{ 2 ** 64 "
                         "}} {{ {a: 5}[f + 1] }} {{ 1e19 | int }}"),
            "99999999999999999999 99999999999999999999 18446744073709551616 5 "
            "10000000000000000000");
}

TEST(Template, BrokenSyntaxIsRefused) {
  for (const char* source : {"{{",
                             "{{ }}",
                             "{{ a",
                             "{% if %}",
                             "{% if a %}",
                             "{% endif %}",
                             "{{ a b }}",
                             "{% for x %}",
                             "{{ 'a }}",
                             "{# a",
                             "{{ (1 }}",
                             "{% break %}",
                             "{{ a | }}",
                             "{% set true = 1 %}",
                             "{{ 1 is }}",
                             "{{ ] }}",
                             "{% raw %}",
                             "\xFF",
                             "{{ $ }}",
                             "{{ 0x }}",
                             "{{ '\\ud800' }}",
                             "{% macro m(a=1, b) %}"}) {
    EXPECT_EQ(failure(source).code(), ErrorCode::InvalidFile) << source << failure(source).what();
  }
  EXPECT_EQ(failure("{% include 'x' %}").code(), ErrorCode::Unsupported);
}

TEST(Template, LimitsHold) {
  const std::string deep(5000, '(');
  EXPECT_EQ(failure("{{ " + deep + " }}").code(), ErrorCode::InvalidFile);
  std::string chain = "{{ 1";
  for (int i = 0; i < 5000; ++i) chain += " + 1";
  EXPECT_EQ(failure(chain + " }}").code(), ErrorCode::InvalidFile);
  for (const char* source :
       {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 999999999999 }}", "{{ range(999999999) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(x='ab') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% "
        "endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% "
        "endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(99999) %}{% set ns.x = [ns.x] %}{% endfor "
        "%}",
        "{{ ('a' * 100000).replace('', 'a' * 100000) }}"}) {
    EXPECT_EQ(failure(source).code(), ErrorCode::LimitExceeded) << source << failure(source).what();
  }
}

// An operation that scans megabytes counts as many steps.
TEST(Template, LargeValuesAreDearToLookThrough) {
  const std::string big =
      "{% set s = 'x' * 3000000 %}{% set a = [1] * 100000 %}"
      "{% set b = [1] * 99999 + [2] %}";
  for (const char* work :
       {"a == b", "a in [b]", "a is eq b", "a < b", "a.count(7)", "'y' in s", "s is lower",
        "s|length", "s.find('y')", "s.isdigit()", "s.startswith(s)", "s[-1]", "s == s ~ ''",
        "s|upper", "[s, s]|unique|list|length", "{s: 1}.get(s)"}) {
    const std::string source =
        big + "{% for i in range(20000) %}{% if " + work + " %}{% endif %}{% endfor %}";
    EXPECT_EQ(failure(source).code(), ErrorCode::LimitExceeded) << work << failure(source).what();
  }
  for (const char* made : {"s ~ s ~ s ~ s ~ s ~ s", "'%s%s%s%s%s%s' % (s, s, s, s, s, s)",
                           "('\n' * 3000000).splitlines()", "s.replace('x', '\n')|indent",
                           "(' x' * 1500000).split()", "s|list", "s[::-1]"}) {
    EXPECT_EQ(failure(big + "{% if " + made + " %}{% endif %}").code(), ErrorCode::LimitExceeded)
        << made;
  }
  std::string names;
  for (int i = 0; i < 5000; ++i) names += "{% set n" + std::to_string(i) + " = 1 %}";
  EXPECT_EQ(failure(names + "{% for i in range(20000) %}{{ q }}{% endfor %}").code(),
            ErrorCode::LimitExceeded);
}

TEST(Template, LongTextsAreSlicedByCharacters) {
  EXPECT_EQ(render("{% set t = 'h\u00e9l' * 100000 %}{{ t[3:8] }}{{ t[-2:] }}{{ t[299999:] }}"
                   "{{ t[1] }}{{ t[-2] }}{{ t[2:1] }}{{ t[400000:] }}{{ t|truncate(7, true) }}"),
            "hélhéélléé"
            "hélh...");
  EXPECT_EQ(render("{{ '%.3s' % 'h\u00e9llo' }}{{ 'xh\u00e9h\u00e9'.find('h', 2) }}"
                   "{{ 'h\u00e9'.find('h', -1) }}{{ 'ab'.find('', 2) }}{{ 'ab'.find('a', 3) }}"),
            "hél3-12-1");
}

TEST(Template, CirclesAndChainsEnd) {
  EXPECT_EQ(render("{% set a = namespace() %}{% set a.a = a %}{% set a.l = [a] %}x"), "x");
  EXPECT_EQ(render("{% set r = namespace(n=0) %}{% for i in range(20000) %}"
                   "{% set r.n = namespace(n=r.n) %}{% endfor %}{% set r.n = 0 %}x"),
            "x");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in list %}{% set ns.f = loop.changed %}"
                   "{{ loop.changed(loop) }}{% endfor %}{{ ns.f is callable }}"),
            "TrueFalseFalseTrue");
}

TEST(Template, DatesAreGiven) {
  RenderOptions options;
  std::tm time{};
  time.tm_year = 125;
  time.tm_mday = 2;
  options.now = time;
  EXPECT_EQ(Template::parse("{{ strftime_now('%d %b %Y') }}").render(context(), options),
            "02 Jan 2025");
}

}  // namespace
}  // namespace pippin::chat
