// --backend and `pippin devices`, where there is a GPU and where there is none.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

using Words = std::vector<std::string>;

TEST(Backends, DevicesAreListed) {
  const auto text = run_pippin({"devices"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(text.out.rfind("cpu ", 0), 0U) << text.out;
  EXPECT_NE(text.out.find("\ncuda"), std::string::npos) << text.out;
  const auto as_json = run_pippin({"devices", "--json"});
  EXPECT_EQ(as_json.status, 0);
  const Json json = Json::parse(as_json.out, "devices");
  EXPECT_GT(json.at("cpu").get_int("cores"), 0);
  EXPECT_GT(json.at("cpu").get_int("memory_bytes"), 0);
  const Json cuda = json.at("cuda");
  const bool is_usable = !cuda.has("problem");
  EXPECT_TRUE(!is_usable || cuda.at("devices").size() > 0);
  EXPECT_EQ(text.out.find("\ncuda    cannot be used") == std::string::npos, is_usable);
}

TEST(Backends, WrongNamesAreWrongUsage) {
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "Cuda"}) {
    for (const Words& command :
         {Words{"run"}, Words{"chat"}, Words{"bench"}, Words{"serve"}, Words{"logits", "m"},
          Words{"predict", "m"}, Words{"verify", "m", "--against", "m"},
          Words{"batch", "in.jsonl"}}) {
      Words words = command;
      words.insert(words.end(), {"--backend", name});
      const auto result = run_pippin(words);
      EXPECT_EQ(result.status, 2) << command.front() << result.err;
      EXPECT_NE(result.err.find("is not cpu, cuda, cuda:N, auto or coreml"), std::string::npos)
          << result.err;
    }
  }
  EXPECT_EQ(run_pippin({"inspect", "m", "--compute-plan", "--backend", "cuda"}).status, 2);
}

TEST(Backends, ModelsRunOnWhatThereIs) {
  const Words run = {"run", "--no-stats", "--temp", "0", "-n", "8", "--precision", "exact"};
  const auto on = [&](const char* backend) {
    Words words = run;
    words.insert(words.end(), {"--backend", backend, "Tell me a story."});
    return run_pippin(words);
  };
  const auto here = on("cpu");
  EXPECT_EQ(here.status, 0) << here.err;
  const auto any = on("auto");
  EXPECT_EQ(any.status, 0) << any.err;
  EXPECT_EQ(any.out, here.out);
  EXPECT_EQ(any.err.rfind("backend: ", 0), 0U) << any.err;

  const Json json = Json::parse(run_pippin({"devices", "--json"}).out, "devices");
  const bool is_usable = !json.at("cuda").has("problem");
  const auto there = on("cuda");
  EXPECT_EQ(there.status, is_usable ? 0 : 3) << there.err;
  EXPECT_TRUE(!is_usable || there.out == here.out) << there.out;
  const auto missing = on("cuda:99");
  EXPECT_NE(missing.status, 0);
  EXPECT_EQ(missing.err.rfind("pippin: error: ", 0), 0U) << missing.err;
}

}  // namespace
}  // namespace pippin
