#include <algorithm>

#include "pippin/mil/networks/control_flow.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

std::vector<LayerKind> all_kinds() {
  std::vector<LayerKind> kinds;
  for (const auto family :
       {activation_layers(), arithmetic_layers(),    channel_layers(),     comparison_layers(),
        constant_layers(),   control_layers(),       convolution_layers(), gather_layers(),
        join_layers(),       normalization_layers(), order_layers(),       padding_layers(),
        pooling_layers(),    product_layers(),       random_layers(),      recurrent_layers(),
        reduction_layers(),  resampling_layers(),    selection_layers(),   shape_layers(),
        slice_layers(),      unary_layers()}) {
    kinds.insert(kinds.end(), family.begin(), family.end());
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const LayerKind& a, const LayerKind& b) { return a.field < b.field; });
  return kinds;
}

}  // namespace

const LayerKind* find_layer_kind(uint32_t field) {
  static const std::vector<LayerKind> kinds = all_kinds();
  const auto kind =
      std::lower_bound(kinds.begin(), kinds.end(), field,
                       [](const LayerKind& one, uint32_t wanted) { return one.field < wanted; });
  return kind != kinds.end() && kind->field == field ? &*kind : nullptr;
}

}  // namespace pippin::mil::networks
