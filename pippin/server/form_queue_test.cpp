#include "pippin/server/form_queue.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;
using http::find_field;

// A schema that takes some seconds to reach the limit of steps.
std::string hard_schema() {
  std::string schema = R"({"type":"array","uniqueItems":true,"minItems":90,"items":{"enum":[0)";
  for (int i = 1; i < 3000; ++i) schema += "," + std::to_string(i);
  return schema + "]}}";
}

std::string short_chat(const std::string& more) {
  return R"({"messages":[{"role":"user","content":"Hello"}],"max_tokens":5,)" + more + "}";
}

std::string hard_chat() {
  return short_chat(R"("json_schema":)" + hard_schema());
}

TEST(ServingForms, HaveATimeLimit) {
  Options options = demo_options();
  options.form_timeout = 50ms;
  const DemoServer server(options);
  EXPECT_EQ(error_of(server.post("/v1/chat/completions", hard_chat())),
            "400 json_schema: json_schema: compiling it takes longer than 0.05 s");
  const Answer answer = server.post(
      "/v1/messages",
      short_chat(R"("output_format":{"type":"json_schema","schema":)" + hard_schema() + "}"));
  EXPECT_EQ(answer.status, 400);
  const Json error = json_of(answer);
  EXPECT_EQ(error.get_string("type"), "error");
  EXPECT_EQ(error.at("error").get_string("message"),
            "output_format: compiling it takes longer than 0.05 s");
}

// Two forms are compiled at a time, and 64 wait.
TEST(ServingForms, DoNotHoldUpOtherRequests) {
  Options options = demo_options();
  options.form_timeout = 1h;
  const DemoServer server(options);
  std::vector<std::unique_ptr<http::Client>> clients;
  const auto send_hard = [&] {
    clients.push_back(std::make_unique<http::Client>(server.port()));
    clients.back()->send_request("POST", "/v1/chat/completions", hard_chat());
  };
  for (int i = 0; i < 70; ++i) send_hard();
  const Answer plain = server.post("/v1/chat/completions", short_chat(R"("n":1)"));
  EXPECT_EQ(plain.status, 200) << plain.body;
  const Answer refused = server.post("/v1/chat/completions", hard_chat());
  EXPECT_EQ(error_of(refused), "503 -: too many forms of answers wait to be compiled");
  EXPECT_EQ(find_field(refused.headers, "retry-after"), "1");
  // Clients that disconnect make room.
  clients.clear();
  Answer formed;
  for (int tries = 0; tries < 100 && formed.status != 200; ++tries) {
    std::this_thread::sleep_for(10ms);
    formed = server.post("/v1/chat/completions", short_chat(R"("guided_choice":["yes"])"));
  }
  EXPECT_NE(formed.body.find(R"("content":"yes")"), std::string::npos) << formed.body;
  send_hard();  // ended by the server's stop
}

}  // namespace
}  // namespace pippin::server
