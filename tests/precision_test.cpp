// The cost of rounding activations to 8 bits (fast), compared with fp32 arithmetic on the same
// compressed weights (exact): the demo model over texts that it generated.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/runtime/agreement.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

struct Text {
  std::vector<int32_t> ids;
  size_t prompt = 0;  // length of the part that the model did not generate
};

std::vector<Text> golden_texts() {
  std::vector<Text> texts;
  const Json golden = Json::load(source_dir() / "pippin/demo/golden.json");
  for (const Json& one : golden.at("cases").elements()) {
    Text text;
    for (const char* part : {"prompt_ids", "continuation_ids"}) {
      text.prompt = text.ids.size();
      for (const int64_t id : one.get_ints(part)) text.ids.push_back(static_cast<int32_t>(id));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// The most likely token after each one from `first` on.
std::vector<int64_t> argmax(runtime::Model& model, const std::vector<int32_t>& ids, size_t first) {
  const std::vector<float> logits = model.new_sequence()->all_logits(ids);
  const auto width = static_cast<std::ptrdiff_t>(model.vocab_size());
  std::vector<int64_t> result;
  for (size_t t = first; t < ids.size(); ++t) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(t) * width;
    result.push_back(std::max_element(row, row + width) - row);
  }
  return result;
}

TEST(Precision, FastAgreesWithExact) {
  const TempDir scratch;
  const std::string demo = source_dir().string() + "/pippin/demo/model";
  const std::vector<std::vector<std::string>> forms = {
      {"--quantize", "int8"}, {"--quantize", "int4"}, {"--palettize", "4", "--group", "16"}};
  for (const auto& form : forms) {
    SCOPED_TRACE(form[0] + " " + form[1]);
    const fs::path package = scratch / (form[0].substr(2) + form[1] + ".mlpackage");
    std::vector<std::string> command = {"convert", demo, "-o", package.string()};
    command.insert(command.end(), form.begin(), form.end());
    ASSERT_EQ(run_pippin(command).status, 0);
    const auto load = [&](engine::Precision precision) {
      return runtime::make_runnable(runtime::find_packages(package),
                                    {.compute = {.precision = precision}});
    };
    const auto fast = load(engine::Precision::Fast), exact = load(engine::Precision::Exact);
    double kl = 0, same = 0, tokens = 0;
    int own_same = 0, own = 0;
    for (const auto& [text, prompt] : golden_texts()) {
      const auto agreement = runtime::compare_models(*fast.model, *exact.model, text,
                                                     {.greedy_tokens = 0, .step_tokens = 1});
      const auto count = static_cast<double>(agreement.tokens);
      kl += agreement.mean_kl * count;
      same += agreement.top1 * count;
      tokens += count;
      const auto rounded = argmax(*fast.model, text, prompt - 1);
      const auto wanted = argmax(*exact.model, text, prompt - 1);
      for (size_t t = 0; t < wanted.size(); ++t) own_same += rounded[t] == wanted[t] ? 1 : 0;
      own += static_cast<int>(wanted.size());
    }
    RecordProperty("tokens", static_cast<int>(tokens));
    EXPECT_GT(tokens, 300);
    EXPECT_GT(kl, 0);  // the two differ
    EXPECT_LT(kl / tokens, 1e-3);
    EXPECT_GT(own, 200);
    EXPECT_GT(own_same, 0.985 * own) << own_same << " of " << own << " that the model writes";
    // Users' texts are harder to predict, and of tokens that are about equally likely any rounding
    // decides.
    EXPECT_GT(same / tokens, 0.98) << same << " of " << tokens;
  }
}

}  // namespace
}  // namespace pippin
