// For tests: the stored op cases (data/op-cases), which are packages with inputs and expected
// outputs, and those that are known to fail.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/engine/compare.h"
#include "pippin/engine/runner.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

constexpr const char* kOpCaseSets[] = {"iOS14", "iOS15", "iOS16", "iOS17", "iOS18", "torch"};

struct OpCase {
  std::string name;  // set/test/number
  std::filesystem::path folder;
  std::string compare;  // "values", or "random" for shapes and finite values only
  std::string function;
  int steps = 1;
  bool stateful = false;
  std::map<std::string, Tolerance> tolerances;  // of the outputs that are compared
  std::vector<std::string> ops;
};

// The cases of a set, of the repository and of the shared data (base/op_case_folders_testing.h).
std::vector<OpCase> load_op_cases(const std::string& set);

// Runs the case. Returns the difference, or an empty text.
std::string run_op_case(const mil::Model& model, const OpCase& item, Precision precision,
                        ThreadPool& pool);

constexpr Precision kPrecisions[] = {Precision::Reference, Precision::Exact, Precision::Fast};
std::string_view name_of(Precision precision);

// A case that differs from the expected results of coremltools' tests, with the reason why that is
// right or has to wait. All other cases must pass, and these must fail: docs/conformance.md is made
// from the list.
struct ExpectedFailure {
  std::string name;
  Precision precision;
  std::string reason;
};
const std::vector<ExpectedFailure>& expected_failures();
// Nothing if the case must pass.
const ExpectedFailure* find_expected_failure(std::string_view name, Precision precision);

// For comparisons: with the type that npz files are read in.
mil::Tensor as_tensor(const HostTensor& host);
NamedHostTensors to_hosts(const NamedTensors& tensors);

}  // namespace pippin::engine
