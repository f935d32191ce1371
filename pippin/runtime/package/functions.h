// The functions of a package that a run uses: one adapter's, or those without an adapter.
//
// The adapters of a multifunction package are separate functions: NAME next to `main`, or
// infer_NAME and prefill_NAME next to `infer` and `prefill`. The user-defined metadata key
// pippin.adapters lists their names, separated by commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::runtime {

// Each returns null if there is none of that name.
const mil::FunctionDescription* find_description(const mil::Model& model, std::string_view name);
const mil::Feature* find_feature(const std::vector<mil::Feature>& features, std::string_view name);

std::vector<std::string> adapter_names(const mil::Model& model);

// The functions of the adapter, or of the base model if `adapter` is empty, with the default
// function first. Empty if the package has none for the adapter.
std::vector<const mil::FunctionDescription*> functions_of(const mil::Model& model,
                                                          std::string_view adapter);

// Throws NotFound with the names of the known adapters.
[[noreturn]] void fail_no_adapter(std::string_view adapter, const std::vector<std::string>& known);

// The states that functions share, each listed once. Names are compared without `.` and `_`, since
// converters and compilers write them differently; all get the first spelling, in the program too.
// Throws InvalidFile, naming both functions, if two states of one name differ in shape. `where` is
// the model's name for messages. Repeated calls join the states of several models.
class SharedStates {
 public:
  void add(mil::Model& model, const std::string& where);
  const std::vector<mil::Feature>& features() const { return features_; }

 private:
  std::vector<mil::Feature> features_;
  std::vector<std::string> origins_;  // for each feature: the model and function
};

}  // namespace pippin::runtime
