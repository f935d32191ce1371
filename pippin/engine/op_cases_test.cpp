// The stored op cases (data/op-cases) in every precision, against their expected outputs and
// against each other.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/op_cases_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/walk.h"

namespace pippin::engine {
namespace {

class OpCases : public testing::TestWithParam<const char*> {};
// Programs of one op. In programs of several (torch), cancellation in a sum amplifies a difference
// in the last bit.
class UglyInput : public testing::TestWithParam<const char*> {};

std::string run(const mil::Model& model, const OpCase& item, Precision precision,
                ThreadPool& pool) {
  try {
    return run_op_case(model, item, precision, pool);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_P(OpCases, GiveWhatIsExpectedInEveryPrecision) {
  const std::vector<OpCase> cases = load_op_cases(GetParam());
  if (cases.empty()) GTEST_SKIP() << shared_data_absent("op-cases");
  ThreadPool pool(1);
  std::ptrdiff_t listed = 0;
  for (const OpCase& item : cases) {
    SCOPED_TRACE(fmt::format("{}: {}", item.name, fmt::join(item.ops, " ")));
    const mil::Model model = mil::read_package(item.folder / "model.mlpackage");
    for (const Precision precision : kPrecisions) {
      const std::string wrong = run(model, item, precision, pool);
      if (find_expected_failure(item.name, precision) == nullptr) {
        EXPECT_EQ(wrong, "") << name_of(precision);
      } else {
        EXPECT_NE(wrong, "") << name_of(precision) << ": passes now; take it from the list";
        ++listed;
      }
    }
  }
  const auto& failures = expected_failures();
  EXPECT_EQ(listed, std::count_if(failures.begin(), failures.end(),
                                  [](const auto& failure) {
                                    return failure.name.starts_with(fmt::format("{}/", GetParam()));
                                  }))
      << "the list of expected failures names an unknown case";
}

// Special floats among ordinary ones.
mil::Tensor ugly(const mil::Tensor& like, bool finite, std::mt19937& random) {
  constexpr double kSpecial[] = {0.0,  -0.0,  1.0,    -1.0, 0.5,        1e-7,     -1e-7,
                                 88.0, -88.0, 1000.0, 1e15, 1e-40,      INFINITY, -INFINITY,
                                 NAN,  0.1,   2.5,    -3.5, 16777217.0, 2.0e-38};
  mil::Tensor tensor = like;
  std::uniform_real_distribution<double> plain(-3, 3);
  std::uniform_int_distribution<size_t> pick(0, std::size(kSpecial) - 1);
  for (double& value : tensor.values) {
    value = random() % 4 == 0 ? kSpecial[pick(random)] : plain(random);
    if (finite && !std::isfinite(value)) value = 0;
  }
  return tensor;
}

// Whether a function computes in fp32 only: plans do not round halves in between.
bool is_float32(const mil::Function& function, const NamedTensors& inputs) {
  bool floats = true;
  for (const auto& [name, tensor] : inputs) {
    floats = floats && function.find_input(name)->type.data_type == mil::DataType::Float32;
  }
  mil::for_each_operation(function.block(), [&](const mil::Operation& operation) {
    for (const auto& output : operation.outputs()) {
      const bool half =
          output->type.is_tensor() && output->type.data_type == mil::DataType::Float16;
      floats = floats && !half;
    }
  });
  return floats;
}

NamedHostTensors predict(const mil::Model& model, const OpCase& item, Precision precision,
                         const NamedHostTensors& inputs, ThreadPool& pool) {
  RunnerOptions options;
  options.compute.precision = precision;
  State state({});
  return Runner::make(model, item.function, pool, options)->run(inputs, state);
}

TEST_P(UglyInput, PlansAgreeWithTheReference) {
  const std::vector<OpCase> cases = load_op_cases(GetParam());
  if (cases.empty()) GTEST_SKIP() << shared_data_absent("op-cases");
  ThreadPool pool(1);
  std::mt19937 random(20261121);
  int compared = 0;
  for (const OpCase& item : cases) {
    if (item.compare != "values" || item.stateful) continue;
    SCOPED_TRACE(fmt::format("{}: {}", item.name, fmt::join(item.ops, " ")));
    const mil::Model model = mil::read_package(item.folder / "model.mlpackage");
    const NamedTensors stored = load_tensors(item.folder / "in.npz");
    if (!is_float32(model.program.function(item.function), stored)) continue;
    // In single precision, a masked key, a padded place or a closed gate may add 0 times infinity;
    // the result is unspecified.
    const bool finite = std::any_of(item.ops.begin(), item.ops.end(), [](const auto& op) {
      return op == "conv" || op == "scaled_dot_product_attention" || op == "lstm" || op == "gru";
    });
    NamedHostTensors inputs;
    for (const auto& [name, tensor] : stored) {
      inputs.emplace(name, to_host(ugly(tensor, finite, random)));
    }
    NamedHostTensors expected;
    try {
      expected = predict(model, item, Precision::Reference, inputs, pool);
    } catch (const Error&) {
      continue;  // values that the value rule rejects
    }
    ++compared;
    try {
      const NamedHostTensors actual = predict(model, item, Precision::Exact, inputs, pool);
      for (const auto& [name, tensor] : expected) {
        if (tensor.type == mil::DataType::String) continue;
        EXPECT_EQ(difference(as_tensor(actual.at(name)), as_tensor(tensor), {1e-4, 1e-4}), "")
            << name;
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, OpCases, testing::ValuesIn(kOpCaseSets),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Folders, UglyInput,
                         testing::Values("iOS14", "iOS15", "iOS16", "iOS17", "iOS18"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace pippin::engine
