// A server with a Hugging Face folder with a long context.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/demo/demo_model.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

// The demo model, declared for 131,072 tokens.
class LongModel {
 public:
  LongModel() {
    for (const EmbeddedFile& file : demo_model()) {
      std::string text(as_text(file.bytes));
      const std::string context = "\"max_position_embeddings\": 512";
      if (const size_t at = text.find(context); at != std::string::npos) {
        text.replace(at, context.size(), "\"max_position_embeddings\": 131072");
      }
      write_file(folder_.path() / file.name, text);
    }
  }
  Options options() const {
    Options options = demo_options();
    options.models.models = {{"long", folder_.path().string()}};
    return options;
  }

 private:
  TempDir folder_;
};

std::string words(int count) {
  std::string text = R"({"max_tokens":1,"prompt":")";
  for (int i = 0; i < count; ++i) text += "word ";
  return text + "\"}";
}

TEST(ServeFolders, HaveTheContextOfTheirModel) {
  const LongModel model;
  const DemoServer server(model.options());
  EXPECT_EQ(json_of(server.ask("GET", "/v1/models/long")).get_int("context_length"), 131072);
  const http::Answer answer = server.post("/v1/completions", words(3000));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_GT(json_of(answer).at("usage").get_int("prompt_tokens"), 3000);
}

TEST(ServeFolders, SayWhatBoundsAPrompt) {
  const LongModel model;
  Options options = model.options();
  options.models.choice.load.context = 1024;
  options.models.scheduler.cache_tokens = 640;
  const DemoServer server(options);
  const std::string of_context = error_of(server.post("/v1/completions", words(3000)));
  EXPECT_TRUE(
      of_context.ends_with(" tokens, the model's context holds 1024 here, of 131072 (--context)"))
      << of_context;
  const std::string of_memory = error_of(server.post("/v1/completions", words(800)));
  EXPECT_TRUE(of_memory.starts_with("400 prompt: the prompt has ")) << of_memory;
  EXPECT_TRUE(of_memory.ends_with(" tokens, the memory for caches holds 640 (--cache-tokens)"))
      << of_memory;
}

}  // namespace
}  // namespace pippin::server
