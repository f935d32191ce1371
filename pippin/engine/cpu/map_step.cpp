// Functions of one element that have no kernel.
#include <algorithm>
#include <cmath>
#include <map>

#include "pippin/engine/cpu/elementwise_loop.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

template <typename T>
using Function = T (*)(T x, const MapNode& map);

template <typename T>
class MapStep : public Step {
 public:
  MapStep(const MapNode& map, Function<T> function) : map_(map), function_(function) {}
  void run(const StepContext& context) const noexcept override {
    run_rows<2>(context, [&](const auto& p, const auto& steps, int64_t count) {
      const T* x = reinterpret_cast<const T*>(p[1]);
      T* y = reinterpret_cast<T*>(p[0]);
      for (int64_t i = 0; i < count; ++i) y[i] = function_(x[i * steps[1]], map_);
    });
  }

 private:
  const MapNode& map_;
  Function<T> function_;
};

// In double precision, so that the result is the nearest float.
template <double (*f)(double)>
float rounded(float x, const MapNode&) {
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
       [](float x, const MapNode& p) {
         const double y = x < 0 ? p.alpha * double{x} : double{x};
         return static_cast<float>(y > p.beta ? p.beta : y);
       }},
      {"thresholded_relu",
       [](float x, const MapNode& p) { return double{x} >= p.alpha ? x : 0.0F; }},
  };
  return table;
}

// Wraps around if the result is too large.
int32_t wrapped(int64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x));
}
int32_t limited(int32_t x, double low, double high) {
  double value = x;
  if (value < low) value = low;
  if (value > high) value = high;
  return static_cast<int32_t>(value);
}
int32_t same(int32_t x, const MapNode&) {
  return x;
}

const std::map<std::string_view, Function<int32_t>>& integer_functions() {
  static const std::map<std::string_view, Function<int32_t>> table = {
      {"abs", [](int32_t x, const MapNode&) { return wrapped(std::abs(int64_t{x})); }},
      {"ceil", same},
      {"clip", [](int32_t x, const MapNode& p) { return limited(x, p.alpha, p.beta); }},
      {"floor", same},
      {"round", same},
      {"sign", [](int32_t x, const MapNode&) { return x > 0   ? 1
                                                      : x < 0 ? -1
                                                              : 0; }},
      {"square", [](int32_t x, const MapNode&) { return wrapped(int64_t{x} * x); }},
      {"threshold", [](int32_t x, const MapNode& p) { return limited(x, p.alpha, HUGE_VAL); }},
  };
  return table;
}

}  // namespace

StepPointer make_step_of(const MapNode& map, const StepSource& source) {
  if (source.node.views[0].storage == Storage::F32) {
    return std::make_unique<MapStep<float>>(map, float_functions().at(map.name));
  }
  return std::make_unique<MapStep<int32_t>>(map, integer_functions().at(map.name));
}

}  // namespace pippin::engine
