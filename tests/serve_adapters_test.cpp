// A server whose requests choose adapters of one loaded model.
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/demo/demo_model.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Json demo_config() {
  for (const EmbeddedFile& file : demo_model()) {
    if (file.name == std::string("config.json")) return Json::parse(as_text(file.bytes), "config");
  }
  ADD_FAILURE() << "no config.json";
  return Json::parse("{}", "config");
}

// An adapter of the demo model with random numbers.
void write_adapter(const fs::path& folder, unsigned seed) {
  fs::create_directories(folder);
  write_file(folder / "adapter_config.json", R"({"peft_type": "LORA", "r": 4, "lora_alpha": 4})");
  const Json config = demo_config();
  const int64_t hidden = config.get_int("hidden_size"), inner = config.get_int("intermediate_size");
  std::vector<SafetensorsWriter::Declaration> tensors;
  for (int64_t layer = 0; layer < config.get_int("num_hidden_layers"); ++layer) {
    const auto name = [&](const char* module, char part) {
      return fmt::format("base_model.model.model.layers.{}.{}.lora_{}.weight", layer, module, part);
    };
    tensors.push_back({name("self_attn.q_proj", 'A'), Dtype::F32, {4, hidden}});
    tensors.push_back({name("self_attn.q_proj", 'B'), Dtype::F32, {hidden, 4}});
    tensors.push_back({name("mlp.up_proj", 'A'), Dtype::F32, {4, hidden}});
    tensors.push_back({name("mlp.up_proj", 'B'), Dtype::F32, {inner, 4}});
  }
  SafetensorsWriter writer(folder / "adapter_model.safetensors", tensors);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.15F);
  for (const auto& tensor : tensors) {
    for (int64_t i = 0; i < tensor.shape[0] * tensor.shape[1]; ++i) {
      const float value = normal(random);
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
}

class ServeAdapters : public testing::Test {
 protected:
  ServeAdapters() {
    write_adapter(folder_ / "formal", 1);
    write_adapter(folder_ / "brief", 2);
  }

  Options options() const {
    Options options = demo_options();
    options.models.choice.load.run_adapters = {
        {"formal", (folder_ / "formal").string(), 1, false},
        {"brief", (folder_ / "brief").string(), 0.5F, false}};
    return options;
  }

  struct Answer {
    std::string text, model;
    int64_t cached = 0;
    bool operator==(const Answer& other) const { return text == other.text; }
  };
  // `more`: further members of the request.
  static Answer complete(const DemoServer& server, const std::string& more = "") {
    const http::Answer answer = server.post(
        "/v1/completions",
        R"({"prompt": "Once upon a time there was a little girl who liked to play in the park",)"
        R"("temperature": 0, "max_tokens": 24)" +
            (more.empty() ? "" : "," + more) + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    if (answer.status != 200) return {};
    const Json json = json_of(answer);
    return {std::string(json.at("choices").at(size_t{0}).get_string("text")),
            std::string(json.get_string("model")),
            json.at("usage").at("prompt_tokens_details").get_int("cached_tokens")};
  }

  TempDir folder_;
};

TEST_F(ServeAdapters, ByNameAndByField) {
  const DemoServer server(options());
  const Answer plain = complete(server);
  const Answer formal = complete(server, R"("model": "demo:formal")");
  const Answer brief = complete(server, R"("model": "demo:brief")");
  EXPECT_EQ(plain.model, "demo");
  EXPECT_EQ(formal.model, "demo:formal");
  EXPECT_EQ(brief.model, "demo:brief");
  EXPECT_NE(formal, plain);
  EXPECT_NE(brief, plain);
  EXPECT_NE(brief, formal);
  EXPECT_EQ(complete(server, R"("lora": "formal")"), formal);
  EXPECT_EQ(complete(server, R"("lora": [{"id": 0, "scale": 1}])"), formal);
  EXPECT_EQ(complete(server, R"("lora": [{"name": "brief"}])"), brief);
  EXPECT_EQ(complete(server, R"("lora": [{"id": 1, "scale": 0.5}, {"id": 0, "scale": 0}])"), brief);
  EXPECT_EQ(complete(server, R"("lora": [])"), plain);
  EXPECT_EQ(complete(server, R"("lora_path": "formal")"), formal);
  EXPECT_NE(complete(server, R"("lora": ["formal", "brief"])"), formal);

  // The same text as with that adapter alone.
  Options alone = options();
  alone.models.choice.load.run_adapters = {{"only", (folder_ / "brief").string(), 0.5F, true}};
  const DemoServer other(alone);
  EXPECT_EQ(complete(other), brief);
  EXPECT_EQ(complete(other, R"("lora": [])"), plain);
}

TEST_F(ServeAdapters, HaveDefaultsOfTheServer) {
  const DemoServer server(options());
  const auto scales = [&] {
    std::vector<double> found;
    const Json list = json_of(server.ask("GET", "/lora-adapters?model=demo"));
    for (const Json& one : list.elements()) {
      EXPECT_EQ(one.get_int("id"), std::ssize(found));
      EXPECT_EQ(one.get_string("path"), (folder_ / one.get_string("name")).string());
      found.push_back(one.get_float("scale"));
    }
    return found;
  };
  const Answer plain = complete(server);
  const Answer brief = complete(server, R"("model": "demo:brief")");
  EXPECT_EQ(scales(), std::vector<double>({0, 0}));
  EXPECT_EQ(server.post("/lora-adapters", R"([{"id": 1, "scale": 0.5}])").body,
            R"({"success":true})");
  EXPECT_EQ(scales(), std::vector<double>({0, 0.5}));
  EXPECT_EQ(complete(server), brief);
  EXPECT_EQ(complete(server, R"("lora": [])"), plain);
  EXPECT_EQ(complete(server, R"("lora": [{"id": 0, "scale": 0}])"), plain);
  EXPECT_EQ(server.post("/lora-adapters", "[]").status, 200);
  EXPECT_EQ(scales(), std::vector<double>({0, 0}));
  EXPECT_EQ(complete(server), plain);

  const auto error = [&](const std::string& body) {
    return error_of(server.post("/lora-adapters", body));
  };
  EXPECT_THAT(error(R"({"id": 0})"), HasSubstr("expected a list"));
  EXPECT_THAT(error(R"([{"id": 2, "scale": 1}])"), HasSubstr("no adapter 2"));
  EXPECT_THAT(error(R"([{"name": "brief"}])"), HasSubstr("needs an id"));
  EXPECT_THAT(error(R"([{"id": 0, "scale": 1e60}])"), HasSubstr("finite"));
  EXPECT_THAT(error("[{"), HasSubstr("400"));
  const DemoServer none(demo_options());
  EXPECT_EQ(none.ask("GET", "/lora-adapters").body, "[]");
}

TEST_F(ServeAdapters, AreListedWithTheirModel) {
  const DemoServer server(options());
  const std::string body = server.ask("GET", "/v1/models").body;
  EXPECT_THAT(body, HasSubstr(R"("id":"demo:formal")"));
  EXPECT_THAT(body, HasSubstr(R"("id":"demo:brief")"));
  const Json one = json_of(server.ask("GET", "/v1/models/demo:formal"));
  EXPECT_EQ(one.get_string("parent"), "demo");
  EXPECT_EQ(one.get_string("state"), "ready");
  // One loaded model.
  const std::string metrics = server.ask("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("model=\"demo\""));
  EXPECT_THAT(metrics, testing::Not(HasSubstr("demo:formal")));
}

TEST_F(ServeAdapters, RefuseWhatTheyAreNot) {
  const DemoServer server(options());
  const auto error = [&](const std::string& more) {
    return error_of(
        server.post("/v1/completions", R"({"prompt": "Once", "max_tokens": 1, )" + more + "}"));
  };
  EXPECT_THAT(error(R"("model": "demo:other")"), HasSubstr("404"));
  EXPECT_THAT(error(R"("lora": "other")"),
              HasSubstr("the model has no adapter \"other\"; its adapters: formal, brief"));
  EXPECT_THAT(error(R"("lora": [{"id": 2}])"), HasSubstr("no adapter 2"));
  EXPECT_THAT(error(R"("lora": [{"scale": 2}])"), HasSubstr("either an id or a name"));
  EXPECT_THAT(error(R"("lora": [{"id": 0, "weight": 2}])"), HasSubstr("\"weight\""));
  EXPECT_THAT(error(R"("lora": [{"id": 0, "scale": 1e60}])"), HasSubstr("finite"));
  EXPECT_THAT(error(R"("lora": 7)"), HasSubstr("expected a name"));
  EXPECT_THAT(error(R"("model": "demo:formal", "lora": "brief")"),
              HasSubstr("names an adapter already"));
  EXPECT_THAT(error_of(server.post("/v1/embeddings", R"({"model": "demo:formal", "input": "x"})")),
              HasSubstr("without adapters"));
  const DemoServer plain(demo_options());
  EXPECT_THAT(error_of(plain.post("/v1/completions", R"({"prompt": "x", "lora": "a"})")),
              HasSubstr("its adapters: none"));
}

TEST_F(ServeAdapters, ShareNoPrompts) {
  const DemoServer server(options());
  const Answer plain = complete(server);
  EXPECT_EQ(plain.cached, 0);
  const Answer formal = complete(server, R"("model": "demo:formal")");
  EXPECT_EQ(formal.cached, 0);
  const Answer half = complete(server, R"("lora": [{"id": 0, "scale": 0.5}])");
  EXPECT_EQ(half.cached, 0);
  for (const auto& [more, before] : std::vector<std::pair<std::string, Answer>>{
           {"", plain},
           {R"("lora": "formal")", formal},
           {R"("lora": [{"id": 0, "scale": 0.5}])", half}}) {
    const Answer again = complete(server, more);
    EXPECT_EQ(again, before);
    EXPECT_GT(again.cached, 8) << more;
  }
}

TEST_F(ServeAdapters, AnswerTogetherAsAlone) {
  const std::vector<std::string> requests = {"", R"("model": "demo:formal")",
                                             R"("model": "demo:brief")",
                                             R"("lora": ["formal", "brief"])"};
  std::vector<Answer> alone, together(requests.size());
  {
    const DemoServer server(options());
    for (const std::string& more : requests) alone.push_back(complete(server, more));
  }
  const DemoServer server(options());
  std::vector<std::thread> clients;
  clients.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    clients.emplace_back([&, i] { together[i] = complete(server, requests[i]); });
  }
  for (std::thread& client : clients) client.join();
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i], alone[i]) << i;
}

}  // namespace
}  // namespace pippin::server
