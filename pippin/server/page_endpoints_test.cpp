// /tools, /tools/run and /clients.
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/testing.h"
#include "pippin/server/client_setups.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;

Options with_tools(std::initializer_list<const char*> texts) {
  Options options = demo_options();
  for (const char* text : texts) options.tools.push_back(shell::read_chat_tool(text));
  return options;
}

std::string run_body(const std::string& name, const std::string& arguments,
                     const std::string& more = "") {
  return R"({"name":")" + name + R"(","arguments":)" + arguments + more + "}";
}

std::string output_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json_of(answer).get_string("output");
}

TEST(ServerTools, AreListedWithTheirCommands) {
  const DemoServer server(with_tools({"say=echo {words}", "now=date"}));
  const Json list = json_of(server.ask("GET", "/tools")).at("data");
  ASSERT_EQ(list.size(), 2U);
  const Json first = list.at(size_t{0});
  EXPECT_EQ(first.get_string("type"), "function");
  EXPECT_EQ(first.get_string("command"), "echo {words}");
  EXPECT_EQ(first.at("function").get_string("name"), "say");
  EXPECT_EQ(first.at("function").at("parameters").at("required").at(size_t{0}).as_string(),
            "words");
}

TEST(ServerTools, RunOneCallAtATime) {
  const TempDir folder;
  const DemoServer server(with_tools({"say=echo {words}; cat", "fail=echo no; exit 3"}));
  const std::string words = "a'; touch " + (folder / "made").string() + " #";
  const std::string arguments = R"({"words":")" + words + R"("})";
  EXPECT_EQ(output_of(server.post("/tools/run", run_body("say", arguments))),
            words + "\n" + arguments);
  EXPECT_FALSE(std::filesystem::exists(folder / "made"));
  // Arguments as models write them: a text.
  EXPECT_TRUE(output_of(server.post("/tools/run", run_body("say", R"("{\"words\":\"b\"}")")))
                  .starts_with("b\n"));
  EXPECT_EQ(output_of(server.post("/tools/run", run_body("fail", "{}"))),
            "no\n\n[the command ended with status 3]");
}

TEST(ServerTools, RefuseOtherCalls) {
  const DemoServer none, server(with_tools({"say=echo {words}"}));
  EXPECT_EQ(json_of(none.ask("GET", "/tools")).at("data").size(), 0U);
  EXPECT_EQ(error_of(none.post("/tools/run", run_body("say", "{}"))),
            "404 name: the server has no tools: --tool");
  const auto error = [&](const std::string& body) {
    return error_of(server.post("/tools/run", body));
  };
  EXPECT_EQ(error(run_body("rm", "{}")), "404 name: the server has no tool \"rm\"");
  EXPECT_EQ(error(run_body("say", "{}")), "400 arguments: the argument \"words\" is missing");
  EXPECT_TRUE(error(run_body("say", "[]")).starts_with("400 arguments: "));
  EXPECT_TRUE(error(run_body("say", R"("{\"words\":")")).starts_with("400 arguments: "));
  EXPECT_EQ(error("{}"), "400 name: name: is missing");
  EXPECT_EQ(error(run_body("say", R"({"words":"a"})", R"(,"command":"echo -n {words}")")),
            "409 command: the tool \"say\" has another command now");
  // As with any request, pages of other origins are refused.
  EXPECT_EQ(server
                .ask("POST", "/tools/run", run_body("say", R"({"words":"a"})"),
                     {{"origin", "http://evil.example"}})
                .status,
            403);
  Options keyed = with_tools({"say=echo {words}"});
  keyed.access.keys.emplace_back("secret");
  const DemoServer guarded(std::move(keyed));
  EXPECT_EQ(guarded.post("/tools/run", run_body("say", R"({"words":"a"})")).status, 401);
  EXPECT_EQ(guarded.ask("GET", "/tools").status, 401);
}

TEST(ServerTools, EndAtTheLimit) {
  Options options = with_tools({"wait=echo begun; sleep 60"});
  options.tool_timeout = std::chrono::milliseconds(300);
  const DemoServer server(std::move(options));
  const auto start = std::chrono::steady_clock::now();
  const Answer answer = server.post("/tools/run", run_body("wait", "{}"));
  EXPECT_EQ(output_of(answer), "begun\n\n[the command was ended after 0.3 s]");
  EXPECT_TRUE(json_of(answer).at("cut").as_bool());
  EXPECT_LT(seconds_since(start), 30);
}

TEST(ServerTools, EndWithTheirClient) {
  const TempDir folder;
  const std::string begun = (folder / "begun").string(), ended = (folder / "ended").string();
  const std::string tool = "wait=touch " + begun + "; sleep 2; touch " + ended;
  const DemoServer server(with_tools({tool.c_str()}));
  {
    http::Client client(server.port());
    client.send_request("POST", "/tools/run", run_body("wait", "{}"));
    while (!std::filesystem::exists(begun))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(std::filesystem::exists(ended));
}

#ifdef __linux__
TEST(ServerTools, GetNoConnectionsOfTheServer) {
  const DemoServer server(with_tools({"files=ls -l /proc/$$/fd"}));
  const std::string files = output_of(server.post("/tools/run", run_body("files", "{}")));
  EXPECT_NE(files.find("pipe:"), std::string::npos) << files;
  EXPECT_EQ(files.find("socket:"), std::string::npos) << files;
}
#endif

TEST(ClientSetups, NameTheServerAndTheModel) {
  const ClientTarget target{
      .url = "http://box:1/p", .key = "KEY'S", .model = "a \"b\"'c", .context = 4096};
  for (const ClientSetup& client : client_setups()) {
    const std::string text = setup_text(client, target);
    EXPECT_NE(text.find("http://box:1/p"), std::string::npos) << client.name;
    EXPECT_EQ(find_client_setup(client.name), &client);
    EXPECT_NE(client.text == nullptr, client.settings == nullptr) << client.name;
    if (client.language != "json") continue;
    EXPECT_NO_THROW(Json::parse(text, "text")) << text;
  }
  EXPECT_EQ(setup_text(*find_client_setup("ollama"), target),
            "# ollama sends no key: the server refuses it\n"
            "OLLAMA_HOST='http://box:1/p' ollama run 'a \"b\"'\\''c'");
  EXPECT_EQ(setup_text(*find_client_setup("curl"), target),
            "curl 'http://box:1/p/v1/chat/completions' \\\n"
            "  -H 'Authorization: Bearer KEY'\\''S' \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            "  -d '{\"model\":\"a \\\"b\\\"'\\''c\",\"messages\":[{\"role\":\"user\","
            "\"content\":\"Hello\"}]}'");
  EXPECT_EQ(find_client_setup("nothing"), nullptr);
}

TEST(ClientSetups, AreAskedFor) {
  const DemoServer server;
  const Json list =
      json_of(server.ask("GET", "/clients?url=https%3A%2F%2Fbox%2Fpippin%2F&key=YOUR_KEY"))
          .at("data");
  ASSERT_EQ(list.size(), client_setups().size());
  const Json claude = list.at(size_t{0});
  EXPECT_EQ(claude.get_string("title"), "Claude Code");
  const std::string text = claude.get_string("text");
  EXPECT_NE(text.find("ANTHROPIC_BASE_URL='https://box/pippin' ANTHROPIC_AUTH_TOKEN='YOUR_KEY'"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ANTHROPIC_MODEL='demo'"), std::string::npos);
  EXPECT_NE(text.find("CLAUDE_CODE_MAX_CONTEXT_TOKENS='512'"), std::string::npos);
  EXPECT_EQ(server.ask("GET", "/clients").status, 400);
  EXPECT_EQ(server.ask("GET", "/clients?url=x&model=none").status, 404);
}

}  // namespace
}  // namespace pippin::server
