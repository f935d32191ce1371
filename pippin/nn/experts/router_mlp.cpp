#include "pippin/nn/experts/router_mlp.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

RouterMlp::RouterMlp(const Parameters& parameters, int64_t features,
                     const RouterMlpOptions& options)
    : narrow_(parameters.at("gate.down_proj"), features, options.hidden, /*bias=*/true),
      norm_(parameters.at("gate.router_mlp.norm"), options.hidden, options.norm),
      first_(parameters.at("gate.router_mlp.fc1"), options.hidden, options.hidden, true),
      second_(parameters.at("gate.router_mlp.fc2"), options.hidden, options.hidden, true) {
  if (!options.adds_earlier) return;
  earlier_scale_ = parameters.at("gate").get("router_states_scale", {options.hidden});
}

Array RouterMlp::operator()(const Array& x, LayerCarry& carry) const {
  Array narrow = narrow_(x);
  if (earlier_scale_) narrow = narrow + carry.routed.value() * *earlier_scale_;
  carry.routed = narrow;
  return array::gelu(second_(array::gelu(first_(norm_(narrow)))));
}

}  // namespace pippin::nn
