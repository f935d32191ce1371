#include "pippin/repl/dialogue.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::repl {
namespace {

std::string request(const Dialogue& dialogue, bool continues = false) {
  JsonWriter json;
  json.begin_object();
  dialogue.write_request(json, continues);
  return json.end_object().text();
}

TEST(Dialogue, IsARequest) {
  Dialogue dialogue;
  dialogue.system = "Be brief.";
  dialogue.turns = {{"user", "Hi", {}}, {"assistant", "Hello", "A greeting."}};
  dialogue.set_parameter("temp", {"0.5"});
  dialogue.set_parameter("num_predict", {"20"});
  dialogue.set_parameter("stop", {"a", "b c"});
  dialogue.thinking = "off";
  EXPECT_EQ(
      request(dialogue, true),
      R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},)"
      R"({"role":"assistant","content":"Hello","reasoning_content":"A greeting."}],)"
      R"("max_completion_tokens":20,"stop":["a","b c"],"temperature":0.5,)"
      R"("chat_template_kwargs":{"enable_thinking":false},"continue_final_message":true})");
  EXPECT_EQ(dialogue.plain_text(), "Be brief.HiHello");
  dialogue.set_parameter("stop", {});
  dialogue.thinking = "low";
  EXPECT_NE(request(dialogue).find(R"("temperature":0.5,"reasoning_effort":"low"})"),
            std::string::npos);
}

TEST(Dialogue, RefusesWhatIsNoParameter) {
  Dialogue dialogue;
  EXPECT_ERROR(dialogue.set_parameter("warmth", {"1"}), ErrorCode::InvalidArgument,
               "unknown parameter \"warmth\"");
  EXPECT_ERROR(dialogue.set_parameter("stop", {"a", ""}), ErrorCode::InvalidArgument,
               "stop: a text is empty");
  EXPECT_ERROR(dialogue.set_parameter("top_k", {"1.5"}), ErrorCode::InvalidArgument,
               "top_k: \"1.5\" is not an integer");
  EXPECT_ERROR(dialogue.set_parameter("top_p", {"1", "2"}), ErrorCode::InvalidArgument,
               "is not a number");
  EXPECT_ERROR(dialogue.set_parameter("ignore_eos", {"1"}), ErrorCode::InvalidArgument,
               "neither true nor false");
  EXPECT_TRUE(dialogue.parameters.empty());
  for (const std::string& name : Dialogue::parameter_names()) dialogue.set_parameter(name, {});
}

TEST(Dialogue, SavesAndLoads) {
  const TempDir folder;
  Dialogue dialogue;
  dialogue.system = "Be\nbrief.";
  dialogue.turns = {{"user", "\x1B[31m漢", {}}, {"assistant", "A", "Hm."}};
  dialogue.set_parameter("seed", {"18446744073709551"});
  dialogue.thinking = "on";
  dialogue.save(folder / "chat.json", "m");
  Dialogue again;
  again.load(folder / "chat.json");
  EXPECT_EQ(request(again), request(dialogue));
  EXPECT_EQ(again.system, dialogue.system);
}

TEST(Dialogue, KeepsCallsOfTools) {
  const TempDir folder;
  Dialogue dialogue;
  dialogue.tools = "[]";
  dialogue.turns = {{"user", "what?", {}},
                    {"assistant", "", "hm", {{"c1", "date", "{\"f\": 1}"}}},
                    {"tool", "2026", {}, {}, "c1"}};
  EXPECT_EQ(request(dialogue),
            R"({"messages":[{"role":"user","content":"what?"},{"role":"assistant","content":"",)"
            R"("reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":)"
            R"({"name":"date","arguments":"{\"f\": 1}"}}]},{"role":"tool","content":"2026",)"
            R"("tool_call_id":"c1"}],"tools":[]})");
  dialogue.save(folder / "chat.json", "m");
  Dialogue again;
  again.load(folder / "chat.json");
  again.tools = "[]";
  EXPECT_EQ(request(again), request(dialogue));
}

TEST(Dialogue, ABadFileChangesNothing) {
  const TempDir folder;
  Dialogue dialogue;
  dialogue.system = "kept";
  const struct {
    const char* text;
    const char* said;
  } cases[] = {
      {"{", "chat.json: "},
      {"{}", "messages"},
      {R"({"messages": [{"role": "function", "content": ""}]})",
       "role \"function\" is not a role of a chat"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "expected a string"},
  };
  for (const auto& [text, said] : cases) {
    write_file(folder / "chat.json", text);
    EXPECT_ERROR(dialogue.load(folder / "chat.json"), ErrorCode::InvalidFile, said);
  }
  EXPECT_ERROR(dialogue.load(folder / "nosuch.json"), ErrorCode::NotFound, "nosuch.json");
  EXPECT_EQ(dialogue.system, "kept");
}

TEST(Dialogue, KeepsTheFormOfAnswers) {
  const TemporaryFolder folder("dialogue_form");
  Dialogue dialogue;
  dialogue.set_form("guided_choice", R"(["yes","no"])");
  dialogue.set_form("response_format", R"({"type":"json_object"})");
  EXPECT_FALSE(dialogue.parameters.contains("guided_choice"));
  dialogue.save(folder.path() / "chat.json", "m");
  Dialogue loaded;
  loaded.load(folder.path() / "chat.json");
  EXPECT_EQ(loaded.parameters, dialogue.parameters);
  loaded.set_form("", "");
  EXPECT_TRUE(loaded.parameters.empty());
}

}  // namespace
}  // namespace pippin::repl
