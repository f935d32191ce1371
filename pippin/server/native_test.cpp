// Endpoints and forms of llama-server, text-embeddings-inference and vLLM.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;

class Native : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static DemoServer* shared_;
};
DemoServer* Native::shared_ = nullptr;

TEST_F(Native, ErrorsHaveTheFormOfTheirDialect) {
  const auto ask = [](const char* path, const char* body, int status) {
    const Answer answer = shared_->post(path, body);
    EXPECT_EQ(answer.status, status) << path;
    return json_of(answer).at("error");
  };
  // llama-server's has a number.
  const Json error = ask("/models/load", R"({"model":5})", 400);
  EXPECT_EQ(error.get_int("code"), 400);
  EXPECT_EQ(error.get_string("type"), "invalid_request_error");
  EXPECT_EQ(ask("/models/load", R"({"model":"gone"})", 404).get_string("type"), "not_found_error");
  // text-embeddings-inference's is a text.
  EXPECT_EQ(ask("/embed", R"({"inputs":5})", 422).as_string().substr(0, 5), "input");
  EXPECT_EQ(
      json_of(shared_->post("/rerank", R"({"query":"a","texts":["b"]})")).get_string("error_type"),
      "Validation");
  EXPECT_EQ(ask("/v1/embeddings", R"({"input":5})", 400).get_string("param"), "input");
  EXPECT_TRUE(ask("/v1/completions", R"({"prompt":5})", 400).at("code").is_null());
}

TEST_F(Native, TellsOfSlotsAndModels) {
  const Json slots = json_of(shared_->ask("GET", "/slots"));
  ASSERT_EQ(slots.size(), 16U);
  EXPECT_EQ(slots.at(size_t{3}).get_int("id"), 3);
  EXPECT_EQ(slots.at(size_t{3}).get_int("n_ctx"), 512);
  EXPECT_FALSE(slots.at(size_t{3}).get_bool("is_processing"));
  EXPECT_EQ(shared_->ask("GET", "/slots?fail_on_no_slot=1").status, 200);
  const Json props = json_of(shared_->ask("GET", "/props"));
  EXPECT_EQ(props.get_int("total_slots"), 16);
  EXPECT_EQ(props.get_string("eos_token"), "<|im_end|>");
  const auto status = [&] {
    return json_of(shared_->ask("GET", "/v1/models/demo")).at("status").get_string("value");
  };
  EXPECT_EQ(status(), "loaded");
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"demo"})").body, R"({"success":true})");
  EXPECT_EQ(status(), "unloaded");
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"demo"})").status, 200);
  EXPECT_EQ(shared_->post("/models/load", R"({"model":"demo"})").body, R"({"success":true})");
  EXPECT_EQ(status(), "loaded");
  EXPECT_EQ(shared_->post("/models/load", R"({"model":"gone"})").status, 404);
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"gone"})").status, 404);
  EXPECT_EQ(error_of(shared_->post("/models/load", "{}")), "400 model: model: is missing");
  const Json chat = json_of(shared_->post(
      "/tokenize", R"({"messages":[{"role":"user","content":"Hi"}],"with_pieces":true})"));
  EXPECT_EQ(chat.at("tokens").at(size_t{0}).get_string("piece"), "<|im_start|>");
  // A part of a character.
  const Json pieces =
      json_of(shared_->post("/tokenize", R"({"content":"\u6f22","with_pieces":true})"))
          .at("tokens");
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces.at(size_t{0}).at("piece").as_ints(), std::vector<int64_t>{0xE6});
}

TEST_F(Native, EmbedsInItsForms) {
  const Json openai = json_of(shared_->post("/v1/embeddings", R"({"input":["One fox","Two"]})"));
  const auto wanted = openai.at("data").at(size_t{1}).at("embedding").as_floats();
  for (const char* field : {"content", "input", "inputs"}) {
    const std::string body = fmt::format(R"({{"{}":["One fox","Two"]}})", field);
    const Json native = json_of(shared_->post("/embedding", body));
    EXPECT_EQ(native.at(size_t{1}).get_int("index"), 1);
    EXPECT_EQ(native.at(size_t{1}).at("embedding").at(size_t{0}).as_floats(), wanted);
    EXPECT_EQ(json_of(shared_->post("/embed", body)).at(size_t{1}).as_floats(), wanted);
  }
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank", "/reranking", "/v1/reranking"}) {
    EXPECT_EQ(error_of(shared_->post(path, R"({"query":"a","documents":["b"]})")),
              "400 model: the model \"demo\" writes texts and scores none");
  }
  for (const char* path : {"/v1/score", "/score"}) {
    EXPECT_EQ(error_of(shared_->post(path, R"({"text_1":"a","text_2":["b"]})")),
              "400 model: the model \"demo\" writes texts and scores none");
  }
  EXPECT_EQ(error_of(shared_->post("/score", R"({"text_1":["a","b"],"text_2":["c"]})")),
            "400 text_1: text_1: has 2 texts, text_2 1: one with each, or pairs");
}

}  // namespace
}  // namespace pippin::server
