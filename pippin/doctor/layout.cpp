// The layout of a transformer's activations.
#include <fmt/format.h>

#include "pippin/doctor/rules.h"
#include "pippin/mil/ops/product.h"

namespace pippin::doctor {
namespace {

constexpr Rule kLayout = {
    .id = "layout",
    .severity = Severity::Note,
    .what = "Products with weights over (batch, sequence, features)",
    .why =
        "The Neural Engine's layout is (batch, channels, 1, sequence): linear layers there are "
        "1x1 convolutions; others are transposed around each product",
    .source = "Apple, Deploying Transformers on the Apple Neural Engine",
    .remedy =
        "Write linear layers as 1x1 convolutions over (B, C, 1, S): the families anemll and "
        "windowed"};

// One or two matrices say little about a layout.
constexpr size_t kFew = 4;

bool multiplies_rows(const FunctionView& function, const mil::Operation& operation) {
  if (operation.type() != "linear" && operation.type() != "matmul") return false;
  const auto product = mil::product_of(operation);
  if (!product || product->operands[1].binding == nullptr) return false;
  const bool weight = function.is_constant(*product->operands[1].binding) ||
                      function.is_constant(*product->operands[0].binding);
  return weight && function.extents(operation).size() >= 3;
}

void check_layout(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    std::vector<const mil::Operation*> found;
    for (const mil::Operation* operation : function.running()) {
      if (multiplies_rows(function, *operation)) found.push_back(operation);
    }
    if (found.size() < kFew) continue;
    for (const mil::Operation* operation : found) findings.add(kLayout, function, *operation);
  }
}

}  // namespace

const Group& layout_rules() {
  static const Group group = {{&kLayout}, check_layout};
  return group;
}

}  // namespace pippin::doctor
