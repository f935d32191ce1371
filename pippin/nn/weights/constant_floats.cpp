#include "pippin/nn/weights/constant_floats.h"

#include <map>
#include <utility>

#include "pippin/array/builder.h"
#include "pippin/base/error.h"
#include "pippin/mil/check/evaluate.h"

namespace pippin::nn {
namespace {

class Constants final : public mil::Environment {
 public:
  const mil::Tensor& tensor_of(const mil::Var* var) override {
    const auto found = tensors_.find(var);
    if (found == tensors_.end()) {
      fail(ErrorCode::Unsupported, "'{}' is not a constant", var->name);
    }
    return found->second;
  }
  void add(const mil::Var* var, mil::Tensor tensor) {
    tensors_.insert_or_assign(var, std::move(tensor));
  }

 private:
  std::map<const mil::Var*, mil::Tensor> tensors_;
};

}  // namespace

std::vector<float> constant_floats(const array::Array& x) {
  array::Builder builder;
  builder.output("value", x);
  const auto function = builder.build();
  Constants constants;
  for (const auto& operation : function->block().operations()) {
    auto values = mil::evaluate_operation(*operation, builder.opset(), constants);
    for (size_t i = 0; i < values.size(); ++i) {
      constants.add(operation->output(i), std::move(values[i]));
    }
  }
  const mil::Tensor& result = constants.tensor_of(function->block().outputs().front());
  return {result.values.begin(), result.values.end()};
}

}  // namespace pippin::nn
