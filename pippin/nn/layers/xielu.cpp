#include "pippin/nn/layers/xielu.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;

double softplus(double x) {
  return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0);
}

XIELUOptions read(const Parameters& parameters) {
  const auto number = [&](std::string_view name, const std::vector<int64_t>& dims) {
    return parameters.values(name, dims).at(0);
  };
  return {.alpha_p = number("alpha_p", {1}),
          .alpha_n = number("alpha_n", {1}),
          .beta = number("beta", {}),
          .epsilon = number("eps", {})};
}

// A number in the form of its use, under the name of its tensor.
Array number(const Parameters& parameters, const std::string& name, auto&& value) {
  if (const auto stored = parameters.stored(name, 1)) return *stored;
  const double values[] = {value()};
  return array::constant(parameters.type(), {1}, values, parameters.path() + "." + name);
}

XIELUOptions options(const Parameters& parameters, const std::optional<XIELUOptions>& given) {
  return given ? *given : read(parameters);
}

}  // namespace

XIELU::XIELU(const Parameters& parameters, const std::optional<XIELUOptions>& given)
    : path_(parameters.path()),
      positive_(number(parameters, "alpha_p",
                       [&] { return softplus(options(parameters, given).alpha_p); })),
      negative_(number(parameters, "alpha_n",
                       [&] {
                         const XIELUOptions own = options(parameters, given);
                         return own.beta + softplus(own.alpha_n);
                       })),
      beta_(number(parameters, "beta", [&] { return options(parameters, given).beta; })),
      epsilon_(number(parameters, "eps", [&] { return options(parameters, given).epsilon; })) {}

Array XIELU::operator()(const Array& x) const {
  const array::Scope scope(path_);
  const Array square = x * x * positive_;
  const Array capped = array::minimum(x, epsilon_);
  const Array below = (array::record_one("elu", {{"x", capped}}) - x) * negative_;
  const Array above_zero = array::greater(x, array::constant(x.type(), 0.0));
  return array::named(array::select(above_zero, square, below) + x * beta_, "");
}

}  // namespace pippin::nn
