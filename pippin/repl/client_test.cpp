#include "pippin/repl/client.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::repl {
namespace {

// Sends the answers set by a test, a few bytes at a time.
class FakeTransport final : public Transport {
 public:
  Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes,
             const std::atomic<bool>* /*stop*/) override {
    asked = path + " " + body;
    if (status != 200 || !on_bytes) return {status, answer};
    for (size_t at = 0; at < answer.size(); at += 7) {
      if (!on_bytes(std::string_view(answer).substr(at, 7))) break;
    }
    return {200, ""};
  }
  int status = 200;
  std::string answer, asked;
};

struct Asked {
  std::string content, reasoning;
  int64_t progress = 0;
  AnswerEnd end;
};

class ClientTest : public testing::Test {
 protected:
  Asked ask() {
    Asked asked;
    asked.end = client_.answer(
        model_, dialogue_, false,
        [&](const AnswerPart& part) {
          asked.content += part.content;
          asked.reasoning += part.reasoning;
          asked.progress += part.done;
          if (asked.content.size() >= stop_at_) stop_ = true;
        },
        stop_);
    return asked;
  }

  FakeTransport* transport_ = new FakeTransport;
  Client client_{std::unique_ptr<Transport>(transport_)};
  ModelInfo model_{.name = "m", .tells_progress = true};
  Dialogue dialogue_{.turns = {{"user", "Hi", {}}}};
  std::atomic<bool> stop_{false};
  size_t stop_at_ = 1000;
};

TEST_F(ClientTest, ReadsAStream) {
  transport_->answer =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n: ping\n\n"
      "data: {\"choices\":[{\"delta\":{}}],\"prompt_progress\":{\"total\":9,\"processed\":4}}\n\n"
      "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"reasoning\":\".\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,"
      "\"prompt_tokens_details\":{\"cached_tokens\":5}},\"timings\":{\"predicted_per_second\":7.5}}"
      "\n\ndata: [DONE]\n\n";
  const Asked asked = ask();
  EXPECT_EQ(asked.content, "Hello");
  EXPECT_EQ(asked.reasoning, "Hm.");
  EXPECT_EQ(asked.progress, 4);
  EXPECT_EQ(asked.end.finish, "stop");
  EXPECT_EQ(asked.end.prompt_tokens, 9);
  EXPECT_EQ(asked.end.cached_tokens, 5);
  EXPECT_EQ(asked.end.tokens_per_second, 7.5);
  EXPECT_EQ(transport_->asked,
            "/v1/chat/completions {\"model\":\"m\",\"stream\":true,\"stream_options\":"
            "{\"include_usage\":true},\"return_progress\":true,\"messages\":[{\"role\":\"user\","
            "\"content\":\"Hi\"}]}");
}

TEST_F(ClientTest, GoesOnWithTheTextOfModelsWithoutATemplate) {
  model_.has_chat_template = false;
  dialogue_.set_parameter("num_predict", {"7"});
  transport_->answer =
      "data: {\"choices\":[{\"text\":\"a b\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
  EXPECT_EQ(ask().content, "a b");
  EXPECT_NE(transport_->asked.find("/v1/completions "), std::string::npos);
  EXPECT_NE(transport_->asked.find("\"prompt\":\"Hi\""), std::string::npos);
  EXPECT_NE(transport_->asked.find("\"max_tokens\":7}"), std::string::npos);
}

TEST_F(ClientTest, Stops) {
  stop_at_ = 1;
  transport_->answer =
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n";
  const Asked asked = ask();
  EXPECT_EQ(asked.content, "a");
  EXPECT_EQ(asked.end.finish, "");
}

TEST_F(ClientTest, SaysWhatTheServerSays) {
  transport_->status = 400;
  transport_->answer = R"({"error":{"message":"top_k: no","type":"x","param":null,"code":null}})";
  EXPECT_ERROR(ask(), ErrorCode::InvalidArgument, "top_k: no");
  transport_->status = 404;
  transport_->answer = R"({"error":"no such model"})";
  EXPECT_ERROR(ask(), ErrorCode::NotFound, "no such model");
  transport_->status = 502;
  transport_->answer = "<html>";
  EXPECT_ERROR(ask(), ErrorCode::Network, "the server answers 502");
  transport_->status = 200;
  transport_->answer = "data: {\"error\":{\"message\":\"out of memory\"}}\n\n";
  EXPECT_ERROR(ask(), ErrorCode::Network, "out of memory");
  transport_->answer = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
  EXPECT_ERROR(ask(), ErrorCode::Network, "broke the answer off");
  transport_->answer = "data: {broken\n\n";
  EXPECT_ERROR(ask(), ErrorCode::InvalidFile, "the server: ");
}

TEST_F(ClientTest, ListsModels) {
  transport_->answer =
      R"({"data":[{"id":"a","owned_by":"pippin","context_length":512,"has_chat_template":false},)"
      R"({"id":"b"}]})";
  const auto models = client_.models();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].context, 512);
  EXPECT_FALSE(models[0].has_chat_template);
  EXPECT_TRUE(models[0].tells_progress);
  EXPECT_TRUE(models[1].has_chat_template);
  EXPECT_FALSE(models[1].tells_progress);
}

}  // namespace
}  // namespace pippin::repl
