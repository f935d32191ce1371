// Groups of ranks that compute each layer together return the bits of one process: products of all
// forms of weights, experts and attention, each divided down to single rows. Ranks are threads.
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/pipeline/pipeline.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/on_ranks.h"
#include "tests/run_adapters_testing.h"
#include "tests/sequence_rows.h"

namespace pippin {
namespace {

using on_ranks::one_thread;
using pipeline::Pipeline;
using runtime::LoadOptions;

struct Divided {
  std::string name;
  std::string config;
  std::string weights = {};  // as pippin convert --quantize names them; empty: as they are
  engine::Precision precision = engine::Precision::Fast;
};
void PrintTo(const Divided& divided, std::ostream* out) {
  *out << divided.name;
}

class TensorParallel : public testing::TestWithParam<Divided> {
 protected:
  void SetUp() override {
    models::write_random_model(folder_.path(), R"({"vocab_size": 40, "hidden_size": 64,
        "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 16, "max_position_embeddings": 64, )" +
                                                   GetParam().config + "}");
    mil::Model model = models::build(folder_.path(), {.context = 32});
    if (!GetParam().weights.empty()) {
      compress::Recipe recipe;
      recipe.min_elements = 1;
      recipe.scheme = compress::parse_scheme(GetParam().weights);
      compress::compress(model, recipe, 1);
    }
    mil::write_package(model, folder_ / "model.mlpackage");
  }

  runtime::RunnableModel open(LoadOptions options) const {
    options.compute.precision = GetParam().precision;
    return runtime::make_runnable(runtime::find_packages(folder_ / "model.mlpackage"), options);
  }
  on_ranks::Setting setting(int width) const {
    return {.grouping = {.width = width, .least_work = 0}};
  }

  TempDir folder_;
};

TEST_P(TensorParallel, GivesTheSameBits) {
  const auto want = rows_of(*open(one_thread()).model);
  const on_ranks::Open opener = [this](const LoadOptions& options) { return open(options); };
  for (const auto& [ranks, width] : {std::pair(2, 2), {3, 3}, {4, 4}, {4, 2}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks in groups of " + std::to_string(width));
    const auto check = [&](runtime::Model& model, Pipeline& pipeline) {
      EXPECT_EQ(rows_of(model), want);
      // A product of each layer at least, at each of nine steps.
      EXPECT_GE(pipeline.traffic().parts, 18U);
    };
    on_ranks::run(ranks, opener, check, setting(width));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, TensorParallel,
    testing::Values(
        Divided{"llama", R"("model_type": "llama")"},
        Divided{"exact", R"("model_type": "llama")", "", engine::Precision::Exact},
        Divided{"int4", R"("model_type": "llama")", "int4"},
        Divided{"int8", R"("model_type": "llama")", "int8"},
        Divided{"windows", R"("model_type": "gemma3_text", "sliding_window": 4,
                              "sliding_window_pattern": 2)"},
        Divided{"sinks", R"("model_type": "gpt_oss", "num_local_experts": 4,
                            "num_experts_per_tok": 2)"},
        Divided{"experts", R"("model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 3,
                              "moe_intermediate_size": 32)"},
        Divided{"recurrent", R"("model_type": "mamba2", "num_heads": 4, "head_dim": 32,
                                "n_groups": 2, "state_size": 6)"}),
    [](const auto& info) { return info.param.name; });

// Small steps are not worth a message.
TEST(TensorParallelSteps, OfLittleWorkAreNotDivided) {
  const on_ranks::Open open = [](const LoadOptions& options) {
    const auto demo = source_dir() / "pippin/demo/model";
    return runtime::make_runnable(models::build(demo, {.context = 64}), options);
  };
  on_ranks::run(2, open,
                [](runtime::Model& model, Pipeline& pipeline) {
                  const auto sequence = model.new_sequence();
                  sequence->prefill(std::vector<int32_t>{3});
                  EXPECT_EQ(pipeline.traffic().parts, 0U);
                  sequence->prefill(std::vector<int32_t>(32, 5));
                  EXPECT_GT(pipeline.traffic().parts, 0U);
                },
                {.grouping = {.width = 2}});
}

// The change of an adapter is added to the columns that a rank computes.
TEST(TensorParallelSteps, DivideLayersWithAdapters) {
  adapters::Fixture fixture(R"({"model_type": "llama", "vocab_size": 40, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
      "num_key_value_heads": 4, "max_position_embeddings": 64})",
                            false);
  adapters::change_all(fixture, 3, 5.0 / 3);
  fixture.write(R"(, "r": 3, "lora_alpha": 5)");
  const on_ranks::Open opener = [&](LoadOptions options) {
    options.run_adapters = {{"style", fixture.adapter(), 1, true}};
    return runtime::make_runnable(
        adapters::build(fixture.base(), options.run_adapters, options.compute.precision), options);
  };
  const auto want = rows_of(*opener(one_thread()).model);
  for (const int ranks : {2, 3}) {
    const auto check = [&](runtime::Model& model, Pipeline& pipeline) {
      EXPECT_EQ(rows_of(model), want) << ranks << " ranks";
      EXPECT_GE(pipeline.traffic().parts, 18U);
    };
    on_ranks::run(ranks, opener, check, {.grouping = {.width = ranks, .least_work = 0}});
  }
}

TEST(TensorParallelSteps, NeedGroupsOfOneSize) {
  const auto exchange = std::make_shared<pipeline::LocalExchange>(3);
  EXPECT_ERROR(
      Pipeline::make(std::make_unique<pipeline::LocalTransport>(exchange, 0), {.width = 2}),
      ErrorCode::InvalidArgument, "3 ranks do not form groups of 2");
}

}  // namespace
}  // namespace pippin
