// Recorded models against Hugging Face's own logits, through the reference interpreter.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/reference.h"
#include "pippin/io/npz.h"
#include "pippin/mil/verify.h"
#include "pippin/models/registry.h"

namespace pippin::models {
namespace {

// The logits of tokens at positions [past, past + ids.size()), by the reference interpreter.
std::vector<double> run_reference(const engine::ReferenceInterpreter& interpreter,
                                  engine::ReferenceState& state, std::span<const int32_t> ids,
                                  int64_t past) {
  const auto query = static_cast<int64_t>(ids.size());
  const int64_t end = past + query;
  mil::Tensor tokens(mil::DataType::Int32, {1, query});
  std::copy(ids.begin(), ids.end(), tokens.values.begin());
  mil::Tensor mask(mil::DataType::Float32, {1, 1, query, end});
  for (int64_t row = 0; row < query; ++row) {
    for (int64_t column = past + row + 1; column < end; ++column) {
      mask.values[static_cast<size_t>(row * end + column)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  return interpreter.run({{"inputIds", tokens}, {"causalMask", mask}}, state).at("logits").values;
}

double max_difference(std::span<const double> a, std::span<const double> b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                   : std::max(worst, difference);
  }
  return worst;
}

// Hugging Face's own logits: the prompt at once, then its greedy continuation token by token.
class LlamaGolden : public testing::TestWithParam<std::string> {
 protected:
  void check(const BuildOptions& options, double tolerance) {
    PIPPIN_SHARED_OR_SKIP(folder, "architectures/" + GetParam());
    const mil::Model model = build(folder, options);
    mil::verify(model.program);
    const NpzFile golden = NpzFile::open(folder / "golden.npz");
    const NpyArray input_ids = golden.read("input_ids"), gen_ids = golden.read("gen_ids");
    const auto prompt = input_ids.as<int32_t>(), generated = gen_ids.as<int32_t>();
    const engine::ReferenceInterpreter interpreter(model.program, "main");
    engine::ReferenceState state;
    std::vector<double> logits = run_reference(interpreter, state, prompt, 0);
    EXPECT_LT(max_difference(logits, golden.read("logits").to_doubles()), tolerance);

    const std::vector<double> expected = golden.read("gen_logits").to_doubles();
    const size_t vocabulary = expected.size() / generated.size();
    for (size_t i = 0; i + 1 < 6; ++i) {
      const int64_t past = static_cast<int64_t>(prompt.size() + i);
      logits = run_reference(interpreter, state, generated.subspan(i, 1), past);
      const auto row = std::span(expected).subspan((i + 1) * vocabulary, vocabulary);
      EXPECT_LT(max_difference(logits, row), tolerance) << "token " << i;
    }
  }
};

TEST_P(LlamaGolden, Float32Direct) {
  check({.context = 128, .compute = BuildOptions::Compute::Float32Direct}, 1e-4);
}
TEST_P(LlamaGolden, Float16Package) {
  check({.context = 128}, 0.05);  // every value rounded to fp16
}

INSTANTIATE_TEST_SUITE_P(All, LlamaGolden,
                         testing::Values("llama_mha", "llama_gqa_llama3_tied", "llama_bias_linear",
                                         "llama_headdim", "llama_sharded_bf16", "llama_f16",
                                         "mistral_sw", "gemma2", "bloom", "falcon_rw_alibi",
                                         "phi3_longrope_long", "openelm", "stablelm_parallel",
                                         "mistral_nosw_headdim"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pippin::models
