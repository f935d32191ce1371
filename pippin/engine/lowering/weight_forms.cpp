#include "pippin/engine/lowering/weight_forms.h"

#include <utility>

#include "pippin/engine/weights/dot_panels.h"
#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/quantized_weight.h"
#include "pippin/engine/weights/weight_type.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The constexpr forms of the package, as they are stored.
std::optional<FoundWeight> quantized(Builder& builder, const WeightUse& use) {
  if (!use.own_rows) return std::nullopt;
  const auto weight = builder.quantized(use.operation, use.parameter);
  if (weight == nullptr) return std::nullopt;
  const auto& matrix = weight->matrix;
  const Shape shape = builder.shape(use.operation, use.parameter);
  if (shape.size() < 2 || !(shape[0] == Dim(matrix.n)) ||
      !(mil::num_elements(shape) == Dim(matrix.n * matrix.k))) {
    return std::nullopt;
  }
  return FoundWeight{matrix.n, weight, std::nullopt, " " + weight->form};
}

bool is_constant(const Builder& builder, const View& w) {
  return builder.is_constant(w) && w.shape[0].is_constant();
}

// A weight [n, k] that consists of all of a constant's elements, in order.
std::optional<PlainWeight> whole_constant(Builder& builder, const WeightUse& use) {
  const View& w = use.matrix();
  const mil::Var* var = use.operation.input_var(use.parameter);
  if (!is_constant(builder, w) || var == nullptr || !is_contiguous(w) || !(w.offset == Dim(0)) ||
      builder.view(var).buffer != w.buffer) {
    return std::nullopt;
  }
  const Buffer& buffer = builder.buffers()[static_cast<size_t>(w.buffer)];
  const PlainWeight stored{var, weight_type(w.storage), buffer.data, w.shape[0].constant(),
                           w.shape[1].constant()};
  if (!(buffer.elements == Dim(stored.n * stored.k))) return std::nullopt;
  return stored;
}

// Halves that need no more than 12 bits, with the sums of batch-invariant rows.
std::optional<FoundWeight> narrow(Builder& builder, const WeightUse& use) {
  if (!builder.target().takes_narrow || builder.precision() != Precision::Fast ||
      !builder.batch_invariant()) {
    return std::nullopt;
  }
  const auto whole = whole_constant(builder, use);
  if (!whole || whole->type == kernels::WeightType::F32) return std::nullopt;
  auto weight = narrow_weight(*whole, builder.opset(), builder.cache());
  if (weight == nullptr) return std::nullopt;
  return FoundWeight{whole->n, std::move(weight)};
}

// Panels that a cache keeps.
std::optional<FoundWeight> packed_once(Builder& builder, const WeightUse& use) {
  const Dim& rows = use.x.shape[0];
  if (!builder.target().takes_panels || builder.batch_invariant() || !rows.is_constant() ||
      !takes_panels(rows.constant())) {
    return std::nullopt;
  }
  const auto stored = whole_constant(builder, use);
  if (!stored) return std::nullopt;
  auto panels = dot_panels(*stored, builder.opset(), builder.cache(), builder.cpu());
  if (!panels) return std::nullopt;
  return FoundWeight{stored->n, DenseWeight{use.matrix().storage, /*is_panels=*/true},
                     builder.shared_constant(Storage::F32, {Dim(panels->rows), Dim(stored->k)},
                                             std::move(panels->bytes))};
}

// fp16, bf16 and fp32.
std::optional<FoundWeight> dense(Builder& builder, const WeightUse& use) {
  const View& w = use.matrix();
  if (!is_constant(builder, w)) return std::nullopt;
  return FoundWeight{w.shape[0].constant(), DenseWeight{w.storage}, w};
}

constexpr WeightForm kForms[] = {quantized, narrow, packed_once, dense};

}  // namespace

std::span<const WeightForm> weight_forms() {
  return kForms;
}

}  // namespace pippin::engine
