#include "pippin/chat/chat_template.h"
#include "pippin/hub/answers.h"
#include "pippin/io/json.h"
#include "pippin/io/yaml.h"
#include "pippin/repl/event_reader.h"
#include "pippin/server/request_json.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

std::vector<Hostile> jsons() {
  const auto read = [](const std::string& file) { Json::parse(file, "x.json"); };
  const auto list = [](std::string_view item) {
    return "[" + repeated(std::string(item) + ",", 100'000) + "0]";
  };
  const auto member = [](size_t i) { return "\"" + std::to_string(i) + "\":0,"; };
  return {
      {"json, arrays", 64, list("[]"), read},
      {"json, objects", 64, list("{}"), read},
      {"json, numbers", 64, list("0"), read},
      {"json, texts", 64, list("\"\""), read},
      {"json, arrays of one", 64, list("[0]"), read},
      {"json, objects of one", 64, list("{\"\":0}"), read},
      {"json, long integers", 64, list("99999999999999999999999999"), read},
      {"json, keys", 64, "{" + joined(50'000, member) + "\"\":0}", read},
      {"json, one key", 64, "{" + repeated("\"\":0,", 50'000) + "\"\":0}", read},
      {"json, depth", 64, repeated("[", 100'000), read},
      {"body of a request", 64, "{\"messages\":" + list("{}") + "}",
       [](const std::string& file) { server::parse_body(file); }},
      {"answer of a hub", 64,
       "[" + repeated(R"({"type":"file","path":"a","oid":"","size":1},)", 5'000) + "{}]",
       [](const std::string& file) {
         std::vector<hub::RepoFile> files;
         hub::parse_tree_page(Json::parse(file, "answer"), files);
       }},
      {"shards of a hub", 64,
       "{\"weight_map\":{" +
           joined(20'000, [](size_t i) { return "\"" + std::to_string(i) + "\":\"a\","; }) +
           "\"a\":\"b\"}}",
       [](const std::string& file) { hub::parse_shards(Json::parse(file, "answer")); }},
  };
}

std::vector<Hostile> yamls() {
  const auto read = [](const std::string& file) { parse_yaml(file, "x.yaml"); };
  const auto anchor = [](size_t i) { return "- &a" + std::to_string(i) + " x\n"; };
  std::string laughs = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "]\n";
  }
  return {
      {"yaml, keys", 128, joined(15'000, [](size_t i) { return std::to_string(i) + ": 1\n"; }),
       read},
      {"yaml, lists", 256, "[" + repeated("[],", 15'000) + "]", read},
      {"yaml, items", 256, repeated("- \n", 15'000), read},
      {"yaml, anchors", 128, joined(15'000, anchor), read},
      {"yaml, aliases", 128, laughs, read},
      {"yaml, tags", 128, "%TAG ! !a\n---\n" + repeated("- !x y\n", 15'000), read},
      {"yaml, depth", 128, repeated("- ", 100'000), read},
      {"yaml, depth of keys", 128, repeated("? ", 100'000), read},
      {"yaml, depth of brackets", 128, repeated("[", 100'000), read},
  };
}

std::vector<Hostile> other_texts() {
  const auto events = [](const std::string& file) {
    repl::EventReader reader;
    for (size_t at = 0; at < file.size(); at += 1000) reader.feed(file.substr(at, 1000));
    while (reader.next()) continue;
  };
  const auto parse = [](const std::string& file) { ChatTemplate::from_source(file, {}); };
  return {
      {"events", 8, repeated("data: a\n\n", 50'000), events},
      {"an event of many lines", 8, repeated("data:\n", 100'000), events},
      {"an event without end", 8, repeated("x", 500'000), events},
      {"template, places", 256, repeated("{{a}}", 20'000), parse},
      {"template, a list", 256, "{{[" + repeated("1,", 20'000) + "1]}}", parse},
      {"template, blocks", 256, repeated("{%if a%}{%endif%}", 10'000), parse},
      {"template, depth", 256, "{{" + repeated("(", 20'000), parse},
      {"template, filters", 256, "{{a" + repeated("|e", 20'000) + "}}", parse},
  };
}

}  // namespace

std::vector<Hostile> hostile_texts() {
  std::vector<Hostile> all;
  for (auto* const make : {jsons, yamls, other_texts}) {
    for (Hostile& one : make()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace pippin
