// Compares every code point with Python: make_characters.py.
#include "pippin/chat/characters.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <utf8proc.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/base/text.h"
#include "pippin/chat/json.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

std::string utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}

std::string fnv(const std::string& text) {
  uint32_t digest = 0x811C9DC5;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return fmt::format("{:08x}", digest);
}

class Characters : public testing::Test {
 protected:
  void SetUp() override {
    const std::string version = utf8proc_unicode_version();
    if (!version.starts_with("14.") && !version.starts_with("15.")) {
      GTEST_SKIP() << "utf8proc has Unicode " << version << ", which changed some letters since 15";
    }
  }

  const std::vector<Value>& numbers(const char* name) const {
    return file_.dict().find(Value(name))->list().items;
  }

  // Compares digests of `describe` for all characters in Unicode 14.
  void expect_digests(const char* name,
                      const std::function<std::string(const std::string&, char32_t)>& describe) {
    const auto& parts = numbers("parts");
    const auto& assigned = numbers("assigned");
    std::vector<std::string> lines(parts.size() - 1);
    size_t part = 0;
    for (size_t i = 0; i < assigned.size(); i += 2) {
      for (int64_t c = assigned[i].integer(); c <= assigned[i + 1].integer(); ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        while (c >= parts[part + 1].integer()) ++part;
        const auto code = static_cast<char32_t>(c);
        const std::string said = describe(utf8(code), code);
        if (!said.empty()) lines[part] += fmt::format("{:x} {}\n", c, said);
      }
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(fnv(lines[i]), numbers(name)[i].string())
          << name << " differs from Python's between " << parts[i].integer() << " and "
          << parts[i + 1].integer();
    }
  }

  const Value file_ =
      parse_json(read_file(source_dir() / "pippin/chat/characters.json"), "characters.json");
};

TEST_F(Characters, PropertiesAreThoseOfPython) {
  const std::pair<const char*, bool (*)(char32_t)> cases[] = {
      {"isalpha", is_alpha},         {"isalnum", is_alnum}, {"isdecimal", is_decimal},
      {"isdigit", is_digit},         {"isspace", is_space}, {"isnumeric", is_numeric},
      {"isprintable", is_printable},
  };
  for (const auto& [name, holds] : cases) {
    expect_digests(
        name, [&, holds = holds](const std::string&, char32_t c) { return holds(c) ? "1" : ""; });
  }
}

TEST_F(Characters, CasesAreThoseOfPython) {
  const std::pair<const char*, bool (*)(std::string_view)> cases[] = {
      {"isupper", is_upper_text}, {"islower", is_lower_text}, {"istitle", is_title_text}};
  for (const auto& [name, holds] : cases) {
    expect_digests(name, [&, holds = holds](const std::string& text, char32_t) {
      return holds(text) ? "1" : "";
    });
  }
}

TEST_F(Characters, LettersBecomeThoseOfPython) {
  const std::pair<const char*, std::string (*)(std::string_view)> cases[] = {
      {"upper", upper},           {"lower", lower},        {"title", title},
      {"capitalize", capitalize}, {"swapcase", swap_case}, {"casefold", fold_case}};
  for (const auto& [name, convert] : cases) {
    expect_digests(name, [&, convert = convert](const std::string& text, char32_t) {
      std::string made = convert(text);
      return made == text ? "" : made;
    });
  }
}

TEST_F(Characters, WordsAreThoseOfPython) {
  const std::string sigma = "\u03A3";
  expect_digests("sigma", [&](const std::string& c, char32_t) {
    return lower("a" + c + sigma + c + "a") + lower("1" + c + sigma) + lower("a" + sigma + c);
  });
  expect_digests("words", [&](const std::string& c, char32_t) { return title("a" + c + "bC"); });
}

TEST(LetterCase, Texts) {
  EXPECT_EQ(upper("stra\u00DFe \uFB03"), "STRASSE FFI");
  EXPECT_EQ(lower("\u0130\u03A3 \u039F\u0394\u039F\u03A3. \u03A3"),
            "i\u0307\u03C2 \u03BF\u03B4\u03BF\u03C2. \u03C3");
  EXPECT_EQ(capitalize("\u01C6\u03A3"), "\u01C5\u03C2");
  EXPECT_EQ(title("they're bill's \uFB01ne x1y"), "They'Re Bill'S Fine X1Y");
  EXPECT_EQ(swap_case("Hello \u00DF \u039F\u03A3"), "hELLO SS \u03BF\u03C2");
  EXPECT_EQ(fold_case("Stra\u00DFe \u0130\u03C2"), "strasse i\u0307\u03C3");
  for (const char* text : {"", "1", " "}) {
    EXPECT_FALSE(is_upper_text(text) || is_lower_text(text) || is_title_text(text)) << text;
  }
  EXPECT_TRUE(is_upper_text("A1 B") && is_lower_text("a1 b") && is_title_text("A1B C"));
  EXPECT_FALSE(is_upper_text("\u01C5") || is_lower_text("\u01C5"));
  EXPECT_TRUE(is_title_text("\u01C5a") && !is_title_text("AB") && !is_title_text("A b"));
}

}  // namespace
}  // namespace pippin::chat
