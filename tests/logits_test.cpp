// Compares logits with other implementations: of trained models with a float64 forward pass,
// through the engine; of tiny ones with Hugging Face's, through the reference interpreter.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"

namespace pippin {
namespace {

using models::BuildOptions;

// Row `row` of `expected` belongs to position positions[row]. Differences are relative to each
// row's largest logit.
void expect_close(const std::vector<float>& logits, const NpyArray& expected,
                  const std::vector<double>& positions, double tolerance) {
  const auto values = expected.to_doubles();
  const auto vocab = static_cast<size_t>(expected.shape.at(1));
  for (size_t row = 0; row < positions.size(); ++row) {
    const double* want = &values[row * vocab];
    const float* have = &logits[static_cast<size_t>(positions[row]) * vocab];
    double largest = 0, difference = 0;
    for (size_t i = 0; i < vocab; ++i) {
      largest = std::max(largest, std::abs(want[i]));
      // Written so that NaN fails.
      const double one = std::abs(have[i] - want[i]);
      difference = one <= difference ? difference : one;
    }
    ASSERT_LE(difference, tolerance * largest) << "after position " << positions[row];
  }
}

void expect_golden_logits(const mil::Model& model, const std::filesystem::path& golden,
                          double tolerance) {
  const NpzFile npz = NpzFile::open(golden);
  for (const int64_t chunk : {256, 7, 1}) {
    // Several threads in one case only: on a busy machine they wait for each other.
    ThreadPool pool(chunk == 256 ? 2 : 1);
    const auto sequence =
        runtime::make_stateful_model(model, pool, {.prefill_chunk = chunk})->new_sequence();
    for (int prompt = 0; npz.contains("p" + std::to_string(prompt) + "_ids"); ++prompt) {
      const std::string prefix = "p" + std::to_string(prompt);
      SCOPED_TRACE(prefix + ", chunks of " + std::to_string(chunk));
      std::vector<int32_t> ids;
      for (const double id : npz.read(prefix + "_ids").to_doubles()) {
        ids.push_back(static_cast<int32_t>(id));
      }
      sequence->reset();
      const auto logits = sequence->all_logits(ids);
      expect_close(logits, npz.read(prefix + "_logits_f64"),
                   npz.read(prefix + "_positions").to_doubles(), tolerance);
    }
  }
}

// The tolerances are twice the measured errors: fp32 1e-6, weights rounded to fp16 2.8e-3.
class GoldenLogits : public testing::TestWithParam<std::string> {};

TEST_P(GoldenLogits, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/" + GetParam());
  BuildOptions options;
  options.compute = BuildOptions::Compute::Float32Direct;
  expect_golden_logits(models::build(folder, options), folder / "golden/golden_logits.npz", 2e-6);
}

TEST_P(GoldenLogits, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/" + GetParam());
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder), path);
  expect_golden_logits(mil::read_package(path), folder / "golden/golden_logits.npz", 6e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenLogits, testing::Values("stories260K", "babyllama-tok105"),
                         [](const auto& test) { return test.param.substr(0, 5); });

// Checks the oracle of architectures_test.cpp: the prompt in one pass, then its greedy continuation
// token by token. Measured with every value rounded to fp16, in 1/10000 of the largest logit; twice
// the value is a fault.
struct Tiny {
  const char* name;
  double half_error;
};

class GoldenReference : public testing::TestWithParam<Tiny> {
 protected:
  void check(const BuildOptions& options, double tolerance) {
    PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures/") + GetParam().name);
    const mil::Model model = models::build(folder, options);
    mil::verify(model.program);
    const testing_models::Golden golden(folder);
    const engine::ReferenceInterpreter interpreter(model.program, "main");
    engine::ReferenceState state;
    const auto step = [&](std::span<const int32_t> ids, int64_t past) {
      return reference_logits(interpreter, state, ids, past);
    };
    const double largest = golden.largest_logit();
    double worst = max_difference(step(golden.prompt, 0), golden.logits) / largest;
    const std::span<const int32_t> generated = golden.generated;
    for (size_t i = 0; i < 5; ++i) {
      const auto logits =
          step(generated.subspan(i, 1), static_cast<int64_t>(golden.prompt.size() + i));
      const double one = max_difference(logits, golden.gen_row(i + 1)) / largest;
      worst = std::max(worst, one);
    }
    EXPECT_LE(worst, tolerance);
  }
};

TEST_P(GoldenReference, Float32) {
  check({.context = 128, .compute = BuildOptions::Compute::Float32Direct}, 1e-5);  // measured: 4e-6
}
TEST_P(GoldenReference, Float16) {
  check({.context = 128}, 2e-4 * GetParam().half_error);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenReference,
                         testing::Values(Tiny{"llama_mha", 68}, Tiny{"llama_gqa_llama3_tied", 96},
                                         Tiny{"llama_bias_linear", 30}, Tiny{"llama_headdim", 38},
                                         Tiny{"llama_sharded_bf16", 67}, Tiny{"llama_f16", 28},
                                         Tiny{"mistral_sw", 109}, Tiny{"gemma2", 60},
                                         Tiny{"bloom", 23}, Tiny{"falcon_rw_alibi", 20},
                                         Tiny{"phi3_longrope_long", 154}, Tiny{"openelm", 79},
                                         Tiny{"stablelm_parallel", 18},
                                         Tiny{"mistral_nosw_headdim", 36}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
