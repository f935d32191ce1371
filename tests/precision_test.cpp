// What rounding activations to 8 bits (fast) costs, beside fp32 arithmetic on the same compressed
// weights (exact): the demo model over texts of its own.

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/generate/agreement.h"
#include "pippin/generate/loaded_model.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::vector<std::vector<int32_t>> golden_texts() {
  std::vector<std::vector<int32_t>> texts;
  const Json golden = Json::load(fs::path(PIPPIN_SOURCE_DIR) / "pippin/demo/golden.json");
  for (const Json& one : golden.at("cases").elements()) {
    std::vector<int32_t> ids;
    for (const char* part : {"prompt_ids", "continuation_ids"}) {
      for (const int64_t id : one.get_ints(part)) ids.push_back(static_cast<int32_t>(id));
    }
    texts.push_back(std::move(ids));
  }
  return texts;
}

TEST(Precision, FastAgreesWithExact) {
  const TempDir scratch;
  const std::string demo = std::string(PIPPIN_SOURCE_DIR) + "/pippin/demo/model";
  const std::vector<std::vector<std::string>> forms = {
      {"--quantize", "int8"}, {"--quantize", "int4"}, {"--palettize", "4", "--group", "16"}};
  for (const auto& form : forms) {
    SCOPED_TRACE(form[0] + " " + form[1]);
    const fs::path package = scratch / (form[0].substr(2) + form[1] + ".mlpackage");
    std::vector<std::string> command = {"convert", demo, "-o", package.string()};
    command.insert(command.end(), form.begin(), form.end());
    ASSERT_EQ(run_pippin(command).status, 0);
    const auto load = [&](engine::Precision precision) {
      return generate::make_runnable(generate::find_packages(package), {.precision = precision});
    };
    const auto fast = load(engine::Precision::Fast), exact = load(engine::Precision::Exact);
    double kl = 0, same = 0, tokens = 0;
    for (const auto& text : golden_texts()) {
      const auto agreement = generate::compare_models(*fast.language_model, *exact.language_model,
                                                      text, {.greedy_tokens = 0, .step_tokens = 1});
      const auto count = static_cast<double>(agreement.tokens);
      kl += agreement.mean_kl * count;
      same += agreement.top1 * count;
      tokens += count;
    }
    RecordProperty("tokens", static_cast<int>(tokens));
    EXPECT_GT(tokens, 300);
    EXPECT_GT(kl, 0);  // the two are not the same
    EXPECT_LT(kl / tokens, 1e-3);
    // Where the two likeliest tokens are about as likely, any rounding decides.
    EXPECT_GT(same / tokens, 0.98) << same << " of " << tokens;
  }
}

}  // namespace
}  // namespace pippin
