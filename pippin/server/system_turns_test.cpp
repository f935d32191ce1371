#include "pippin/server/system_turns.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/chat/chat_template.h"
#include "pippin/chat/json.h"
#include "pippin/server/effort_hint.h"

namespace pippin::server {
namespace {

using chat::Value;

std::string placed(std::string_view source, std::string_view messages) {
  const auto model = ChatTemplate::from_source(source, chat::Dict{});
  const Value list = chat::parse_json(messages, "messages");
  const auto render = [&](const Value& some) {
    return model.render(chat::Dict{{"messages", some}}, PromptEnd::Generation);
  };
  // Returns "s:Be brief.|u:Hi".
  std::string text;
  const Value found = place_systems(list, render);
  for (const Value& message : found.list().items) {
    if (!text.empty()) text += '|';
    text += message.dict().find("role")->string()[0];
    text += ':' + message.dict().find("content")->string();
  }
  return text;
}

constexpr const char* kAny = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
constexpr const char* kFirst =
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}";
constexpr const char* kNone =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
    "{% endif %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}"
    "{% endfor %}";
// Writes the first instruction and drops later ones.
constexpr const char* kDrops =
    "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}";
// Moves all instructions to the front.
constexpr const char* kMoves =
    "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}"
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}";

constexpr const char* kTalk =
    R"([{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"system","content":"a"},)"
    R"({"role":"assistant","content":"b"},{"role":"system","content":"x"},{"role":"user","content":"c"}])";

TEST(SystemTurns, StayWhereTheTemplateTakesThem) {
  EXPECT_EQ(placed(kAny, kTalk), "s:s|u:a|s:a|a:b|s:x|u:c");
  for (const char* one : {kFirst, kDrops, kMoves}) {
    EXPECT_EQ(placed(one, kTalk), "s:s|u:a\na|a:b|u:x\nc") << one;
  }
  EXPECT_EQ(placed(kNone, kTalk), "u:s\na\na|a:b|u:x\nc");
}

TEST(SystemTurns, AtTheEndOrAloneAreUsers) {
  EXPECT_EQ(placed(kFirst, R"([{"role":"user","content":"a"},{"role":"system","content":"x"}])"),
            "u:a\nx");
  EXPECT_EQ(
      placed(kFirst, R"([{"role":"assistant","content":"a"},{"role":"system","content":"x"}])"),
      "a:a|u:x");
  EXPECT_EQ(placed(kNone, R"([{"role":"system","content":"x"}])"), "u:x");
}

TEST(SystemTurns, OfTheFrontMayBeWrittenBeforeTheLastTurn) {
  constexpr const char* kLast =
      "{% set n = messages | length %}{% for m in messages if m.role != 'system' %}"
      "{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
      "[{{ m.role }}]{{ m.content }}{% endfor %}";
  constexpr const char* kThree =
      R"([{"role":"system","content":"s"},{"role":"user","content":"a"},)"
      R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}])";
  EXPECT_EQ(placed(kLast, kThree), "s:s|u:a|a:b|u:c");
}

TEST(SystemTurns, StayWhereATemplateRefusesMarksAlone) {
  constexpr const char* kStrict =
      "{% for m in messages %}{% if m.content | length > 5 %}{{ raise_exception('long') }}"
      "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";
  EXPECT_EQ(placed(kStrict, kTalk), "s:s|u:a|s:a|a:b|s:x|u:c");
}

TEST(EffortHints, BeginWithTheLevelThatIsAskedFor) {
  const auto all = [](std::string_view effort, std::string_view source) {
    std::string text;
    for (const auto& one : efforts_for(effort, source)) text += one.value_or("-") + " ";
    return text;
  };
  EXPECT_EQ(all("high", ""), "high medium low - ");
  EXPECT_EQ(all("max", ""), "high medium low - ");
  EXPECT_EQ(all("max", "'max'"), "max high medium low - ");
  EXPECT_EQ(all("medium", "\"xhigh\""), "medium high low xhigh - ");
  EXPECT_EQ(all("none", ""), "- ");
  EXPECT_EQ(all("none", "'none'"), "none - ");
}

}  // namespace
}  // namespace pippin::server
