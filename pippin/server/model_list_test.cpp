#include "pippin/server/model_list.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/mapped_origin.h"
#include "pippin/base/testing.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;

// Two models, of which only one has room. Copies of the demo model.
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
  // Of weights that are mapped now.
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
  EXPECT_TRUE(refused.starts_with("503 -: model b: there is no room for its ")) << refused;
}

}  // namespace
}  // namespace pippin::server
