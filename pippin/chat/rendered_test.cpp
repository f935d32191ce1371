// Compares chat templates with Python's Jinja2, set up as in transformers.
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/chat/json.h"
#include "pippin/chat/template.h"

namespace pippin::chat {
namespace {

// The one case of another engine that differs from Python: docs/conformance.md.
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

// docs/conformance.md must state the test's result for a file of cases.
void expect_documented(const std::string& file, int total, int matching) {
  const std::string row = fmt::format("| {} | {} | {} |", file, total, matching);
  EXPECT_NE(read_file(source_dir() / "docs/conformance.md").find(row), std::string::npos)
      << "docs/conformance.md lacks: " << row;
}

// Compares every result in a file of results and conversations, byte for byte; returns the number
// of results.
int expect_results(const Value& cases,
                   const std::function<std::string(const std::string& name)>& source_of) {
  RenderOptions options;
  options.now = fixed_time();
  std::map<std::string, Template> parsed;
  std::set<std::string> different;  // different templates: one case of each is enough to report
  int total = 0;
  for (const auto& result : at(cases, "results").list().items) {
    ++total;
    const std::string name = at(result, "template").string();
    const Value* expected = result.dict().find("output");
    std::string got;
    bool error = false;
    try {
      auto place = parsed.find(name);
      if (place == parsed.end()) {
        place = parsed.emplace(name, Template::parse(source_of(name))).first;
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
    if (error == expects_error && (error || got == expected->string())) continue;
    if (!different.insert(name).second) continue;
    ADD_FAILURE() << name << " differs: " << at(result, "case").string() << "\n  got: " << got
                  << "\n  expected: " << (expects_error ? "an error" : expected->string());
  }
  EXPECT_GT(total, 0);
  return total;
}

// Returns the rendered text, or nothing for an error.
std::optional<std::string> rendered(const std::string& source, const Value& context) {
  try {
    RenderOptions options;
    options.now = fixed_time();
    return Template::parse(source).render(context, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Made-up templates with Jinja2's results: make_rendered.py.
TEST(Rendered, MadeUpTemplatesMatchJinja2) {
  const Value cases =
      parse_json(read_file(source_dir() / "pippin/chat/rendered.json"), "rendered.json");
  const Value& templates = at(cases, "templates");
  expect_results(cases,
                 [&](const std::string& name) { return at(templates, name.c_str()).string(); });
}

TEST(Rendered, ExpressionsMatchJinja2) {
  const Value cases =
      parse_json(read_file(source_dir() / "pippin/chat/rendered.json"), "rendered.json");
  for (const auto& one : at(cases, "expressions").list().items) {
    const std::string source = one.list().items[0].string();
    const Value& expected = one.list().items[1];
    SCOPED_TRACE(source);
    const auto got = rendered("{{ (" + source + ") }}", at(cases, "names"));
    EXPECT_EQ(got.value_or("an error"), expected.is_none() ? "an error" : expected.string());
  }
}

TEST(Rendered, RealTemplatesMatchJinja2) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value cases = parse_json(read_file(data / "rendered.json"), "rendered.json");
  const std::filesystem::path folder = data / "jinja";
  const int total =
      expect_results(cases, [&](const std::string& name) { return read_file(folder / name); });
  expect_documented("rendered.json", total, total);
}

TEST(Rendered, LlamaCppCases) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value file =
      parse_json(read_file(data / "llama.cpp-chat-template-cases.json"), "llama.cpp cases");
  int cases = 0;
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
    ++cases;
    const auto got = rendered(at(one, "template_str").string(), Value(context));
    if (expected.starts_with("ERR ")) {
      EXPECT_FALSE(got.has_value()) << at(one, "name").string();
    } else {
      EXPECT_EQ(got, expected) << at(one, "name").string();
    }
  }
  expect_documented("llama.cpp-chat-template-cases.json", cases, cases);
}

TEST(Rendered, HuggingFaceJinjaCases) {
  PIPPIN_SHARED_OR_SKIP(data, "templates");
  const Value file = parse_json(read_file(data / "hf-jinja-e2e.json"), "hf-jinja-e2e.json");
  RenderOptions options;
  options.now = fixed_time();
  options.now->tm_mon = 6;  // 10 July 2025, the date in one of them
  options.now->tm_mday = 10;
  int cases = 0;
  for (const char* group : {"TEST_DEFAULT_TEMPLATES", "TEST_CUSTOM_TEMPLATES"}) {
    for (const auto& [name, one] : at(file, group).dict().entries()) {
      const auto parsed = Template::parse(at(one, "chat_template").string());
      const std::string got = parsed.render(at(one, "data"), options);
      std::string expected = at(one, "target").string();
      ++cases;
      if (name.string() == kNotPython) {
        // There, tools are written as JSON; Jinja2 writes a Python list.
        const std::string tools = to_json(at(at(one, "data"), "tools"));
        const size_t place = expected.find(tools);
        ASSERT_NE(place, std::string::npos);
        expected.replace(place, tools.size(), to_repr(at(at(one, "data"), "tools")));
      }
      EXPECT_EQ(got, expected) << name.string();
    }
  }
  expect_documented("hf-jinja-e2e.json", cases, cases - 1);  // kNotPython
}

}  // namespace
}  // namespace pippin::chat
