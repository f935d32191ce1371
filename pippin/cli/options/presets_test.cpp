#include "pippin/cli/options/presets.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/cli/options/model_options.h"

namespace pippin::cli {
namespace {

using server::ModelEntry;
using Entries = std::vector<ModelEntry>;

class Presets : public testing::Test {
 protected:
  Presets() {
    std::filesystem::create_directory(folder_ / "small");
    write_file(folder_ / "small/config.json", "{}");
    std::filesystem::create_directory(folder_ / "formal");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Entries read(const std::string& text, std::vector<std::string> words = {},
               const std::string& name = "models.ini") const {
    write_file(folder_ / name, text);
    ModelArguments arguments;
    CLI::App command;
    int port = 0;
    command.add_option("--port", port);
    add_model_options(command, arguments);
    std::reverse(words.begin(), words.end());
    command.parse(words);
    return read_presets(folder_ / name, command);
  }

  // Returns the message, without the folder's name.
  std::string refusal(const std::string& text, const std::string& name = "models.ini") const {
    std::string message = "nothing";
    try {
      read(text, {}, name);
    } catch (const Error& error) {
      message = error.what();
    }
    const std::string folder = folder_.path().string() + "/";
    for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
      message.erase(at, folder.size());
    }
    return message;
  }

  const TempDir folder_;
};

TEST_F(Presets, AreTheOptionsOfTheServerForOneModel) {
  const Entries entries = read(R"(version = 1
; for all models
[*]
ctx-size = 512
temp = 0.5

[one]            # a comment
model = )" + path("small") + R"(
alias = uno, eins
c = 64
top-k = 7
typical_p = 0.9
threads = 3
low-memory = on
keep-alive = 5m
draft = off
parallel = 2
cache-ram = 64M
precision = exact
adapter = )" + path("formal") + R"(
seed = 4
n-predict = 9
reasoning-budget = 20
think = off
chat-template-kwargs = {"reasoning_effort": "low", "x": 1}
dry-breaker = a
dry-breaker = b
logit-bias = 5=-1
load-on-startup = true
jinja = true

[org/name:Q4_K_M]
pin = 1

[demo]
)");
  ASSERT_EQ(entries.size(), 3);
  const ModelEntry& one = entries[0];
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.path, path("small"));
  EXPECT_EQ(one.aliases, (std::vector<std::string>{"uno", "eins"}));
  const server::ModelSettings& settings = *one.settings;
  EXPECT_EQ(settings.choice.load.context, 64);
  EXPECT_EQ(settings.choice.load.threads, 3);
  EXPECT_TRUE(settings.choice.load.low_memory);
  EXPECT_EQ(settings.choice.load.compute.precision, engine::Precision::Exact);
  EXPECT_EQ(settings.choice.load.adapter, path("formal"));
  EXPECT_EQ(settings.draft.source, "off");
  EXPECT_EQ(settings.scheduler.max_running, 2);
  EXPECT_EQ(settings.scheduler.cache_ram, 64 << 20);
  EXPECT_EQ(settings.sampling.temperature, 0.5);
  EXPECT_EQ(settings.sampling.top_k, 7);
  EXPECT_EQ(settings.sampling.typical_p, 0.9);
  EXPECT_EQ(settings.sampling.logit_bias, (std::map<int32_t, double>{{5, -1}}));
  EXPECT_EQ(settings.keep_alive, std::chrono::minutes(5));
  EXPECT_EQ(settings.loads_at_start, true);
  EXPECT_FALSE(settings.is_pinned);
  std::map<std::string, std::string> fields;
  for (const server::FieldDefault& field : settings.fields) {
    fields.try_emplace(field.name, field.value.dump());
  }
  EXPECT_EQ(fields,
            (std::map<std::string, std::string>{{"seed", "4"},
                                                {"max_tokens", "9"},
                                                {"thinking_token_budget", "20"},
                                                {"enable_thinking", "false"},
                                                {"reasoning_effort", "\"low\""},
                                                {"think", "false"},
                                                {"chat_template_kwargs", R"({"x":1})"},
                                                {"dry_sequence_breakers", R"(["a","b"])"}}));
  EXPECT_EQ(entries[1].path, "org/name:Q4_K_M");
  EXPECT_TRUE(entries[1].settings->is_pinned);
  EXPECT_EQ(entries[1].settings->choice.load.context, 512);
  EXPECT_EQ(entries[2].path, "");
  EXPECT_EQ(entries[2].settings->sampling.temperature, 0.5);
}

TEST_F(Presets, AreTheSameInJson) {
  const Entries entries = read(R"({"version": 1, "*": {"temp": 0.5, "top_k": 3},
    "one": {"model": ")" + path("small") +
                                   R"(", "alias": ["uno", "eins"], "ctx-size": 64,
    "pin": true, "low-memory": false, "temp": null, "chat-template-kwargs": {"x": [1, "a, b"]}}})",
                               {}, "models.json");
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].aliases, (std::vector<std::string>{"uno", "eins"}));
  EXPECT_TRUE(entries[0].settings->is_pinned);
  EXPECT_FALSE(entries[0].settings->choice.load.low_memory);
  EXPECT_EQ(entries[0].settings->sampling.temperature, 0.5);
  EXPECT_EQ(entries[0].settings->sampling.top_k, 3);
  ASSERT_EQ(entries[0].settings->fields.size(), 1);
  EXPECT_EQ(entries[0].settings->fields[0].value.dump(), R"({"x":[1,"a, b"]})");
}

TEST_F(Presets, ComeAfterTheCommandLine) {
  const Entries entries =
      read("[*]\ntemp = 0.1\ntop-p = 0.2\nlow-memory = no\n[demo]\ntop-p = 0.3\nctx-size = 8\n",
           {"--context", "64", "--temp", "0.9", "--low-memory"});
  const server::ModelSettings& settings = *entries.at(0).settings;
  EXPECT_EQ(settings.choice.load.context, 64);
  EXPECT_EQ(settings.sampling.temperature, 0.9);
  EXPECT_EQ(settings.sampling.top_p, 0.3);
  EXPECT_TRUE(settings.choice.load.low_memory);
}

TEST_F(Presets, GoOnFromEachOther) {
  const Entries entries = read(
      "[fast]\nmodel = base\ntop-k = 1\n[other]\nmodel = base\nalias = o\n"
      "[base]\nmodel = demo\ntemp = 0.5\ntop-k = 9\n[third]\nmodel = o\n");
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].name, "fast");
  EXPECT_EQ(entries[0].path, "");
  EXPECT_EQ(entries[0].settings->sampling.top_k, 1);
  EXPECT_EQ(entries[0].settings->sampling.temperature, 0.5);
  EXPECT_EQ(entries[1].name, "base");
  EXPECT_EQ(entries[1].settings->sampling.top_k, 9);
  EXPECT_EQ(entries[1].aliases, (std::vector<std::string>{"other", "o", "third"}));
}

TEST_F(Presets, RefuseWithThePlaceWhatCannotBe) {
  const struct {
    const char *text, *message;
  } cases[] = {
      {"", "models.ini: has no section for a model, such as [NAME] with model = PATH"},
      {"[demo]\nno key\n", "models.ini:2: expected [section] or key = value"},
      {"[demo]\n= 5\n", "models.ini:2: expected [section] or key = value"},
      {"\n[demo\n", "models.ini:2: the name of the section lacks its ]"},
      {"[]\n", "models.ini:1: []: a section needs the name of a model"},
      {"[demo]\n[a]\nmodel=demo\n[demo]\n",
       "models.ini:4: [demo]: there is such a section already at models.ini:1: [demo]: join the "
       "two"},
      {"temp = 1\n", "models.ini:1: temp: stands before the first section; [*] is for all models"},
      {"version = 2\n", "models.ini:1: version: 2 is not supported (supported: 1)"},
      {"[demo]\nctx-sise = 5\n",
       "models.ini:2: ctx-sise: is not an option of a model (did you mean ctx-size?)"},
      {"[demo]\nn-gpu-layers = 99\n",
       "models.ini:2: n-gpu-layers: is not an option of a model; pippin serve --help lists them"},
      {"[demo]\nport = 1\n",
       "models.ini:2: port: belongs to the server, not to a model: give --port to pippin serve"},
      {"[demo]\nctx-size = many\n", "models.ini:2: ctx-size: many is not a number of 1 or more"},
      {"[demo]\nctx-size = 0\n", "models.ini:2: ctx-size: 0 is not a number of 1 or more"},
      {"[demo]\nctx-size =\n", "models.ini:2: ctx-size: the value is missing"},
      {"[demo]\nctx-size = 1\nc = 2\n",
       "models.ini:3: c: is given already at models.ini:2: ctx-size"},
      {"[demo]\npin = perhaps\n", "models.ini:2: pin: expected true or false, found \"perhaps\""},
      {"[demo]\njinja = false\n", "models.ini:2: jinja: cannot be turned off"},
      {"[demo]\nttl = soon\n",
       "models.ini:2: ttl: \"soon\" is neither seconds nor a duration such as 5m"},
      {"[demo]\ncache-ram = 2048\n",
       "models.ini:2: cache-ram: 2048 bytes hold no prompt; with a unit: 2048M"},
      {"[demo]\ntop-p = 3\n", "models.ini:1: [demo]: top_p is 3, must be above 0 and at most 1"},
      {"[demo]\nalias = a\n[b]\nmodel = demo\nalias = a\n",
       "models.ini:5: alias: the name \"a\" is taken by models.ini:2: alias"},
      {"[a]\nmodel = demo\nalias = b\n[b]\nmodel = demo\nalias = a\n",
       "models.ini:3: alias: the name \"b\" is taken by models.ini:4: [b]"},
      {"[a]\nmodel = b\n[b]\nmodel = c\n[c]\nmodel = a\n",
       "models.ini:6: model: a -> b -> c -> a is a circle: one of them has to name a file, a "
       "folder "
       "or org/name"},
      {"[a]\nmodel = b\ntemp = 1\n[b]\nmodel = a\ntemp = 1\n",
       "models.ini:5: model: a -> b -> a is a circle: one of them has to name a file, a folder or "
       "org/name"},
      {"[a]\nmodel = a\n",
       "models.ini:2: model: a -> a is a circle: one of them has to name a file, a folder or "
       "org/name"},
      {"[a]\nmodel = /nowhere/x.gguf\n",
       "models.ini:2: model: /nowhere/x.gguf: there is no such file or folder"},
      {"[gone]\ntemp = 1\n",
       "models.ini:1: [gone]: has no model = PATH, and: gone: there is no such file or folder"},
      {"[demo]\nchat-template = /nowhere\n",
       "models.ini:2: chat-template: /nowhere: there is no such file or folder"},
      {"[demo]\nadapter = /nowhere\n",
       "models.ini:2: adapter: /nowhere: there is no such file or folder"},
      {"[*]\nmodel = demo\n", "models.ini:2: model: belongs to the section of one model"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text), message) << text;
}

TEST_F(Presets, RefuseJsonWithThePlace) {
  const struct {
    const char *text, *message;
  } cases[] = {
      {"[]", "models.json: expected an object with a member for each model"},
      {R"({"demo": 5})", "models.json: demo: expected an object with the options of a model"},
      {R"({"demo": {"ctx-size": "x"}})",
       "models.json: demo.ctx-size: x is not a number of 1 or more"},
      {R"({"demo": {"temp": "x"}})", "models.json: demo.temp: expected a number, found \"x\""},
      {R"({"demo": {"ctx-size": [1, 2]}})", "models.json: demo.ctx-size: takes one value, found 2"},
      {R"({"demo": {"pin": "x"}})", "models.json: demo.pin: expected true or false, found \"x\""},
      {R"({"demo": {"ctx-size": {"a": 1}}})",
       R"(models.json: demo.ctx-size: {"a":1} is not a number of 1 or more)"},
      {R"({"demo": {"alias": [["a"]]}})",
       "models.json: demo.alias[0]: expected a text, a number, true or false"},
      {R"({"demo": {"tmp": 1}})",
       "models.json: demo.tmp: is not an option of a model (did you mean temp?)"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(refusal(text, "models.json"), message) << text;
  }
  EXPECT_NE(refusal(R"({"a": {}, "a": {}})", "models.json").find("\"a\""), std::string::npos);
  EXPECT_NE(refusal("{\n\"a\": {", "models.json").find("models.json"), std::string::npos);
  EXPECT_NE(refusal("x", "gone/models.ini"), "nothing");
}

}  // namespace
}  // namespace pippin::cli
