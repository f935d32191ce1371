#include "pippin/server/model_list.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/testing.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;

// Two copies of the demo model, with room for only one.
class ServingRoom : public testing::Test {
 protected:
  ServingRoom() {
    const std::filesystem::path demo = source_dir() / "pippin/demo/model";
    for (const char* name : {"a", "b"}) std::filesystem::copy(demo, folder_ / name);
    options_.models.models = {{"a", (folder_ / "a").string()}, {"b", (folder_ / "b").string()}};
    options_.models.max_bytes = std::filesystem::file_size(demo / "model.safetensors") * 3 / 2;
  }

  static std::string body(const std::string& model, const std::string& more) {
    return R"({"prompt":"Once","model":")" + model + "\"," + more + "}";
  }
  // Bytes of the weights that are mapped now.
  uint64_t mapped_bytes() const {
    uint64_t bytes = 0;
    for (const FileOrigin& file : mapped_files()) {
      if (file.path.string().starts_with(folder_.path().string())) bytes += file.size;
    }
    return bytes;
  }

  const TempDir folder_;
  Options options_ = demo_options();
};

TEST_F(ServingRoom, IsCountedForModelsThatLoad) {
  const DemoServer server(options_);
  for (int time = 0; time < 3; ++time) {
    std::vector<Thread> threads;
    for (const char* model : {"a", "b"}) {
      threads.emplace_back([&, model] {
        const Answer answer = server.post("/v1/completions", body(model, R"("max_tokens":2)"));
        EXPECT_EQ(answer.status, 200) << answer.body;
      });
    }
    threads.clear();
    EXPECT_LE(mapped_bytes(), options_.models.max_bytes);
  }
}

TEST_F(ServingRoom, IsFreeWhenAModelHasAnswered) {
  const std::string long_answer = R"("stream":true,"ignore_eos":true,"n":20,"max_tokens":400)";
  {
    const DemoServer server(options_);
    http::Client slow(server.port());
    slow.send_request("POST", "/v1/completions", body("a", long_answer));
    ASSERT_TRUE(slow.read_until("text"));
    const Answer other = server.post("/v1/completions", body("b", R"("max_tokens":1)"));
    EXPECT_EQ(other.status, 200) << other.body;
    EXPECT_LE(mapped_bytes(), options_.models.max_bytes);
    EXPECT_TRUE(slow.read_answer().body.ends_with("data: [DONE]\n\n"));
  }
  options_.models.room_wait = 0s;
  const DemoServer server(options_);
  http::Client slow(server.port());
  slow.send_request("POST", "/v1/completions", body("a", long_answer));
  ASSERT_TRUE(slow.read_until("text"));
  const std::string refused =
      error_of(server.post("/v1/completions", body("b", R"("max_tokens":1)")));
  EXPECT_TRUE(refused.starts_with("503 -: model b: no room for its ")) << refused;
}

class PinnedModels : public ServingRoom {
 protected:
  void pin(size_t index) {
    auto settings = std::make_shared<ModelSettings>(options_.models);
    settings->is_pinned = true;
    options_.models.models[index].settings = settings;
  }
  static std::string state(const DemoServer& server, const std::string& name) {
    return json_of(server.ask("GET", "/v1/models/" + name)).get_string("state");
  }
};

TEST_F(PinnedModels, AreLoadedAtStartAndStay) {
  pin(1);
  options_.models.models[0].path = "";  // the demo model has no files
  options_.models.keep_alive = 0s;
  const DemoServer server(options_);
  EXPECT_EQ(state(server, "b"), "ready");
  for (const char* field : {R"("keep_alive":0)", R"("ttl":0)"}) {
    EXPECT_EQ(
        server.post("/v1/completions", body("b", R"("max_tokens":1,)" + std::string(field))).status,
        200);
  }
  EXPECT_EQ(server.post("/v1/completions", body("a", R"("max_tokens":1)")).status, 200);
  for (int tries = 0; tries < 500 && state(server, "a") != "absent"; ++tries) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(state(server, "a"), "absent");
  EXPECT_EQ(state(server, "b"), "ready");
}

TEST_F(PinnedModels, AreNamedWhereOthersFindNoRoom) {
  pin(0);
  const DemoServer server(options_);
  const std::string bytes =
      std::to_string(std::filesystem::file_size(folder_ / "b/model.safetensors"));
  const std::string refused =
      error_of(server.post("/v1/completions", body("b", R"("max_tokens":1)")));
  EXPECT_TRUE(refused.starts_with("503 -: model b: no room for its ")) << refused;
  EXPECT_NE(refused.find(" bytes: pinned models (a) take "), std::string::npos) << refused;
  EXPECT_EQ(state(server, "a"), "ready");
  EXPECT_EQ(server.post("/v1/completions", body("a", R"("max_tokens":1)")).status, 200);
  // A model can be unloaded by name.
  EXPECT_EQ(server.post("/models/unload", R"({"model":"a"})").status, 200);
  EXPECT_EQ(server.post("/v1/completions", body("b", R"("max_tokens":1)")).status, 200);
}

TEST_F(ServingRoom, CountsFilesOnceThatSeveralModelsHave) {
  const auto settings = std::make_shared<ModelSettings>(options_.models);
  options_.models.models[1] = {"b", (folder_ / "a").string(), {"c"}, settings};
  const DemoServer server(options_);
  for (const char* model : {"a", "b", "a", "c"}) {
    EXPECT_EQ(server.post("/v1/completions", body(model, R"("max_tokens":1)")).status, 200);
  }
  for (const char* model : {"a", "b", "c"}) {
    EXPECT_EQ(json_of(server.ask("GET", "/v1/models/" + std::string(model))).get_string("state"),
              "ready");
  }
}

TEST(ModelSettingsOfOne, ComeBeforeTheModelsAndAfterTheRequests) {
  Options options = demo_options();
  auto settings = std::make_shared<ModelSettings>(options.models);
  settings->sampling.temperature = 0.25;
  settings->sampling.top_k = 7;
  settings->choice.load.context = 64;
  settings->fields = {{"max_tokens", Json::parse("3", "")}, {"seed", Json::parse("5", "")}};
  options.models.models.push_back({"own", "", {}, settings});
  const DemoServer server(options);
  const auto tokens = [&](const std::string& model, const std::string& path,
                          const std::string& more) {
    const Json answer = json_of(server.post(
        path, R"({"prompt":"Once","ignore_eos":true,"model":")" + model + "\"" + more + "}"));
    return answer.at("usage").get_int("completion_tokens");
  };
  EXPECT_EQ(tokens("own", "/v1/completions", ""), 3);
  EXPECT_EQ(tokens("own", "/v1/completions", R"(,"max_tokens":5)"), 5);
  EXPECT_EQ(tokens("demo", "/v1/completions", ""), 16);
  const Json props = json_of(server.ask("GET", "/props?model=own"));
  const Json defaults = props.at("default_generation_settings");
  EXPECT_EQ(defaults.get_int("n_ctx"), 64);
  EXPECT_EQ(defaults.at("params").get_float("temperature"), 0.25);
  EXPECT_EQ(defaults.at("params").get_int("top_k"), 7);
  const auto text = [&](const std::string& more) {
    return json_of(server.post("/v1/completions", R"({"prompt":"Once","model":"own","temperature":1,
      "max_tokens":20)" + more + "}"))
        .at("choices")
        .at(size_t{0})
        .get_string("text");
  };
  EXPECT_EQ(text(""), text(R"(,"seed":5)"));
}

TEST(ModelSettingsOfOne, LeaveTheFirstModelForTheFirstRequest) {
  Options options = demo_options();
  options.models.loads_at_start = false;
  const DemoServer server(options);
  EXPECT_EQ(json_of(server.ask("GET", "/v1/models/demo")).get_string("state"), "absent");
  EXPECT_EQ(server.post("/v1/completions", R"({"prompt":"Once","max_tokens":1})").status, 200);
}

// Checks every endpoint, and both spellings.
TEST(KeepAlive, OfARequestHoldsForItsModel) {
  const DemoServer server;
  const auto expires = [&] {
    return json_of(server.ask("GET", "/api/ps"))
        .at("models")
        .at(size_t{0})
        .get_string("expires_at");
  };
  const std::string forever = expires();
  EXPECT_EQ(forever, "9999-12-31T23:59:59Z");
  const std::string prompt = R"({"prompt":"Once","max_tokens":1,)",
                    chat = R"({"max_tokens":1,)" + std::string(kStory) + ",";
  struct Case {
    const char* path;
    std::string body;
  };
  for (const Case& one :
       {Case{"/v1/completions", prompt}, Case{"/v1/chat/completions", chat},
        Case{"/v1/messages", chat}, Case{"/v1/messages/count_tokens", chat},
        Case{"/completion", prompt},
        Case{"/v1/responses", R"({"max_output_tokens":1,"input":"a",)"},
        Case{"/v1/embeddings", R"({"input":"a",)"}, Case{"/api/embed", R"({"input":"a",)"},
        Case{"/api/generate", R"({"prompt":"a","stream":false,"options":{"num_predict":1},)"}}) {
    EXPECT_EQ(server.post(one.path, one.body + R"("ttl":3600})").status, 200) << one.path;
    EXPECT_NE(expires(), forever) << one.path;
    EXPECT_EQ(server.post(one.path, one.body + R"("keep_alive":"-1s"})").status, 200) << one.path;
    EXPECT_EQ(expires(), forever) << one.path;
    const Answer refused = server.post(one.path, one.body + R"("ttl":"soon"})");
    EXPECT_EQ(refused.status, 400) << one.path;
    EXPECT_NE(refused.body.find("ttl: expected seconds or a duration such as "), std::string::npos);
  }
}

}  // namespace
}  // namespace pippin::server
