// Models that run with adapters, for tests: the logits of a model whose weights the test itself
// changed are those of the model with the adapter.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/adapters_testing.h"

namespace pippin::adapters {

using engine::Precision;
using runtime::RunAdapter;

using Ids = std::vector<int32_t>;
inline const Ids kIds = {3, 1, 4, 1, 5, 9, 2, 6};

// A folder, or a package that was made of one.
inline mil::Model build(const fs::path& path, const std::vector<RunAdapter>& adapters,
                        Precision precision) {
  const bool is_package = path.extension() == ".mlpackage";
  if (is_package && adapters.empty()) return mil::read_package(path);
  using Compute = models::BuildOptions::Compute;
  models::BuildOptions options;
  options.compute = is_package ? Compute::Float16Package : Compute::Float32Direct;
  for (const RunAdapter& adapter : adapters) options.run_adapters.emplace_back(adapter.path);
  options.half_adapters = precision == Precision::Fast;
  return models::build(path, options);
}

inline std::shared_ptr<runtime::Model> open(const fs::path& path,
                                            const std::vector<RunAdapter>& adapters = {},
                                            Precision precision = Precision::Exact) {
  runtime::LoadOptions options;
  options.threads = 1;
  options.run_adapters = adapters;
  options.compute.precision = precision;
  return runtime::make_runnable(build(path, adapters, precision), options).model;
}

inline void convert(const fs::path& folder, const fs::path& package) {
  mil::WriteOptions options;
  options.extra_files = models::package_files(folder);
  mil::write_package(models::build(folder), package, options);
}

inline std::vector<float> logits_of(runtime::Model& model, const std::vector<float>& numbers = {}) {
  const auto sequence = model.new_sequence();
  if (!numbers.empty()) sequence->set_adapters(numbers);
  return sequence->all_logits(kIds);
}

// `adapter` on `base` gives the logits of `merged`, also on a package of the base.
struct Expectation {
  double package_tolerance = 2e-2;
  double least_change = 0.003;
};
inline void expect_same(const fs::path& base, const fs::path& adapter, const fs::path& merged,
                        const fs::path& package, const Expectation& expectation = {}) {
  const std::vector<RunAdapter> adapters = {{"style", adapter, 1, true}};
  const auto expected = logits_of(*open(merged));
  const auto plain = logits_of(*open(base));
  EXPECT_GT(largest_difference(plain, expected), expectation.least_change);

  const auto model = open(base, adapters);
  EXPECT_LT(largest_difference(logits_of(*model), expected), 1e-5);
  EXPECT_EQ(logits_of(*model, {0}), plain);
  // A package of the base, whose weights are fp16.
  convert(base, package);
  const auto of_package = open(package, adapters);
  EXPECT_LT(largest_difference(logits_of(*of_package), expected), expectation.package_tolerance);
  EXPECT_EQ(logits_of(*of_package, {0}), logits_of(*open(package)));
  // The matrices of an adapter are rounded to fp16.
  const auto fast = open(base, adapters, Precision::Fast);
  EXPECT_LT(largest_difference(logits_of(*fast), expected), 1e-2);
}

inline void expect_same_as_merged(const Fixture& fixture, double package_tolerance = 2e-2) {
  expect_same(fixture.base(), fixture.adapter(), fixture.merged(),
              fixture.scratch("base.mlpackage"), {package_tolerance});
}

inline void change_all(Fixture& fixture, int64_t rank, double scale) {
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    for (const char* module :
         {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
          "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
      fixture.change(std::string(layer) + module, rank, scale);
    }
  }
  fixture.change("lm_head", rank, scale);
}

}  // namespace pippin::adapters
