// The functions of a package that a run uses: those of one adapter, or those of none.
//
// Adapters of a multifunction package are separate functions: NAME next to `main`, or infer_NAME
// and prefill_NAME beside `infer` and `prefill`. The user-defined metadata key pippin.adapters
// lists their names, separated by commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::runtime {

std::vector<std::string> adapter_names(const mil::Model& model);

// The functions of the adapter, or of the model itself where `adapter` is empty, the default one
// first. Empty where the package has none for the adapter.
std::vector<const mil::FunctionDescription*> functions_of(const mil::Model& model,
                                                          std::string_view adapter);

// Throws NotFound, naming the adapters that there are.
[[noreturn]] void fail_no_adapter(std::string_view adapter, const std::vector<std::string>& known);

// The states that functions share, each once. Names count without `.` and `_`, since converters and
// compilers write them differently: all get the first spelling, in the program too. Throws
// InvalidFile, naming both functions, where two of one name have other shapes. `where` is the
// model's name for messages; called for one model after the other, it joins their states.
class SharedStates {
 public:
  void add(mil::Model& model, const std::string& where);
  const std::vector<mil::Feature>& features() const { return features_; }

 private:
  std::vector<mil::Feature> features_;
  std::vector<std::string> origins_;  // of each feature: the model and function
};

}  // namespace pippin::runtime
