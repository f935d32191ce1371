// Real chat templates against Python's Jinja2, set up as transformers does.
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/base/testing.h"
#include "pippin/chat/json.h"
#include "pippin/chat/template.h"

namespace pippin::chat {
namespace {

// How many cases match. Only ever raised.
constexpr int kMatching = 4784;
// Of another engine's cases the one that is not Python's: docs/conformance.md.
constexpr std::string_view kNotPython = "MadeAgents/Hammer2.1";

const Value& at(const Value& dict, const char* key) {
  const Value* found = dict.dict().find(key);
  if (found == nullptr) throw Error(ErrorCode::Internal, key);
  return *found;
}

std::tm fixed_time() {  // 2025-01-02 03:04:05, a Thursday
  std::tm time{};
  time.tm_year = 125;
  time.tm_mday = 2;
  time.tm_hour = 3;
  time.tm_min = 4;
  time.tm_sec = 5;
  time.tm_wday = 4;
  time.tm_yday = 1;
  return time;
}

TEST(Rendered, MatchesJinja2) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value cases = parse_json(read_file(data / "rendered.json"), "rendered.json");
  RenderOptions options;
  options.now = fixed_time();
  std::map<std::string, Template> parsed;
  std::map<std::string, std::string> first_failures;
  int matching = 0, total = 0;
  for (const auto& result : at(cases, "results").list().items) {
    ++total;
    const std::string name = at(result, "template").string();
    const Value* expected = result.dict().find("output");
    std::string got;
    bool error = false;
    try {
      auto place = parsed.find(name);
      if (place == parsed.end()) {
        place = parsed.emplace(name, Template::parse(read_file(data / "jinja" / name))).first;
      }
      Dict context{{"tools", Value()},
                   {"bos_token", at(cases, "bos_token")},
                   {"eos_token", at(cases, "eos_token")},
                   {"add_generation_prompt", at(result, "add_generation_prompt")}};
      const Value& conversation =
          at(at(cases, "conversations"), at(result, "case").string().c_str());
      for (const auto& [key, value] : conversation.dict().entries()) context.set(key, value);
      got = place->second.render(Value(std::move(context)), options);
    } catch (const Error& caught) {
      error = true;
      got = caught.what();
      EXPECT_NE(caught.code(), ErrorCode::LimitExceeded) << name << ": " << got;
    }
    const bool expects_error = expected == nullptr || !expected->is_string();
    if (error == expects_error && (error || got == expected->string())) {
      ++matching;
    } else {
      first_failures.try_emplace(
          name, at(result, "case").string() + "\n  got: " + got + "\n  expected: " +
                    (expects_error ? "error " + to_text(at(result, "error")) : expected->string()));
    }
  }
  for (const auto& [name, what] : first_failures) {
    std::printf("%s differs: %s\n", name.c_str(), what.c_str());
  }
  std::printf("%d of %d cases match\n", matching, total);
  EXPECT_GE(matching, kMatching);
  const std::string row =
      "| rendered.json | " + std::to_string(total) + " | " + std::to_string(matching) + " |";
  EXPECT_NE(read_file(PIPPIN_SOURCE_DIR "/docs/conformance.md").find(row), std::string::npos)
      << "docs/conformance.md lacks: " << row;
}

// What a template gives, or nothing for an error.
std::optional<std::string> rendered(const std::string& source, const Value& context) {
  try {
    RenderOptions options;
    options.now = fixed_time();
    return Template::parse(source).render(context, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Rendered, LlamaCppCases) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value file =
      parse_json(read_file(data / "llama.cpp-chat-template-cases.json"), "llama.cpp cases");
  for (const auto& one : at(file, "cases").list().items) {
    const auto text = [&](const char* key) {
      const Value* found = one.dict().find(key);
      return found == nullptr ? Value("") : *found;
    };
    const Dict context{{"messages", at(file, "messages")},
                       {"add_generation_prompt", true},
                       {"bos_token", text("bos_token")},
                       {"eos_token", text("eos_token")}};
    const std::string expected = at(one, "jinja2_output").string();
    const auto got = rendered(at(one, "template_str").string(), Value(context));
    if (expected.starts_with("ERR ")) {
      EXPECT_FALSE(got.has_value()) << at(one, "name").string();
    } else {
      EXPECT_EQ(got, expected) << at(one, "name").string();
    }
  }
}

TEST(Rendered, HuggingFaceJinjaCases) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value file = parse_json(read_file(data / "hf-jinja-e2e.json"), "hf-jinja-e2e.json");
  RenderOptions options;
  options.now = fixed_time();
  options.now->tm_mon = 6;  // 10 July 2025, which one of them writes
  options.now->tm_mday = 10;
  int cases = 0;
  for (const char* group : {"TEST_DEFAULT_TEMPLATES", "TEST_CUSTOM_TEMPLATES"}) {
    for (const auto& [name, one] : at(file, group).dict().entries()) {
      const auto parsed = Template::parse(at(one, "chat_template").string());
      const std::string got = parsed.render(at(one, "data"), options);
      std::string expected = at(one, "target").string();
      ++cases;
      if (name.string() == kNotPython) {
        // Tools are written as JSON there, as a Python list by Jinja2.
        const std::string tools = to_json(at(at(one, "data"), "tools"));
        const size_t place = expected.find(tools);
        ASSERT_NE(place, std::string::npos);
        expected.replace(place, tools.size(), to_repr(at(at(one, "data"), "tools")));
      }
      EXPECT_EQ(got, expected) << name.string();
    }
  }
  EXPECT_EQ(cases, 53);
}

}  // namespace
}  // namespace pippin::chat
