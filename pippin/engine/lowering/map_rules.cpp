// Functions of one element that no kernel has: rare ones, and those of integers.
#include <algorithm>
#include <cmath>
#include <map>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/elementwise_loop.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/elementwise_step.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

struct Parameters {
  double alpha = 0, beta = 0;
};
template <typename T>
using Function = T (*)(T x, const Parameters& parameters);

// views: y, x, of T.
template <typename T>
class MapStep : public Step {
 public:
  MapStep(std::string name, Function<T> function, Parameters parameters)
      : name_(std::move(name)), function_(function), parameters_(parameters) {}
  std::string name() const override { return name_; }
  void run(const StepContext& context) const noexcept override {
    run_rows<2>(context, [&](const auto& p, const auto& steps, int64_t count) {
      const T* x = reinterpret_cast<const T*>(p[1]);
      T* y = reinterpret_cast<T*>(p[0]);
      for (int64_t i = 0; i < count; ++i) y[i] = function_(x[i * steps[1]], parameters_);
    });
  }

 private:
  std::string name_;
  Function<T> function_;
  Parameters parameters_;
};

// In double precision, so that the result is the nearest float.
template <double (*f)(double)>
float rounded(float x, const Parameters&) {
  return static_cast<float>(f(double{x}));
}

const std::map<std::string_view, Function<float>>& float_functions() {
  static const std::map<std::string_view, Function<float>> table = {
      {"acos", rounded<std::acos>},
      {"asin", rounded<std::asin>},
      {"atan", rounded<std::atan>},
      {"atanh", rounded<std::atanh>},
      {"cosh", rounded<std::cosh>},
      {"sinh", rounded<std::sinh>},
      {"tan", rounded<std::tan>},
      {"clamped_relu",
       [](float x, const Parameters& p) {
         const double y = x < 0 ? p.alpha * double{x} : double{x};
         return static_cast<float>(y > p.beta ? p.beta : y);
       }},
      {"thresholded_relu",
       [](float x, const Parameters& p) { return double{x} >= p.alpha ? x : 0.0F; }},
  };
  return table;
}

// Wrapping where the result is too large.
int32_t wrapped(int64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x));
}
int32_t limited(int32_t x, double low, double high) {
  double value = x;
  if (value < low) value = low;
  if (value > high) value = high;
  return static_cast<int32_t>(value);
}
int32_t same(int32_t x, const Parameters&) {
  return x;
}

const std::map<std::string_view, Function<int32_t>>& integer_functions() {
  static const std::map<std::string_view, Function<int32_t>> table = {
      {"abs", [](int32_t x, const Parameters&) { return wrapped(std::abs(int64_t{x})); }},
      {"ceil", same},
      {"clip", [](int32_t x, const Parameters& p) { return limited(x, p.alpha, p.beta); }},
      {"floor", same},
      {"round", same},
      {"sign", [](int32_t x, const Parameters&) { return x > 0   ? 1
                                                         : x < 0 ? -1
                                                                 : 0; }},
      {"square", [](int32_t x, const Parameters&) { return wrapped(int64_t{x} * x); }},
      {"threshold", [](int32_t x, const Parameters& p) { return limited(x, p.alpha, HUGE_VAL); }},
  };
  return table;
}

template <typename T>
void emit_map(Builder& builder, const mil::Operation& operation, Function<T> function) {
  Parameters parameters;
  for (const mil::Parameter& parameter :
       mil::find_op(operation.type(), builder.opset())->parameters) {
    if (parameter.name == "alpha") parameters.alpha = float_param(builder, operation, "alpha");
    if (parameter.name == "beta") parameters.beta = float_param(builder, operation, "beta");
  }
  const Storage storage = run_storage(builder.info(operation.output()).type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const View y = builder.allocate_like(storage, x);
  builder.emit_step<MapStep<T>>(in_memory_order({y, x}), operation.type(), function, parameters);
  builder.define_output(operation, y);
}

void float_map(Builder& builder, const mil::Operation& operation) {
  emit_map<float>(builder, operation, float_functions().at(operation.type()));
}

}  // namespace

void integer_map(Builder& builder, const mil::Operation& operation) {
  need_whole_integers(builder, operation);
  const auto found = integer_functions().find(operation.type());
  if (found == integer_functions().end()) {
    fail(ErrorCode::Unsupported, "{}: elements of type {}", builder.where(operation),
         mil::to_string(builder.info(operation.output()).type));
  }
  emit_map<int32_t>(builder, operation, found->second);
}

void add_map_rules(Rules& rules) {
  for (const auto& [name, function] : float_functions()) rules[name] = float_map;
}

}  // namespace pippin::engine
