// topk and one_hot along the last axis: how the experts of a mixture are chosen.
#include <algorithm>
#include <cmath>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;

// views: values [rows, k], indices int32 [rows, k], x [rows, n]. In descending order, of equals the
// first first, NaN before all numbers.
class TopKStep : public Step {
 public:
  TopKStep() { num_written = 2; }
  std::string name() const override { return "topk"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& values = context.operands[0];
    const Operand& indices = context.operands[1];
    const Operand& x = context.operands[2];
    for (int64_t row = 0; row < x.shape[0]; ++row) {
      choose(x.floats() + row * x.strides[0], x.shape[1], values.shape[1],
             values.floats() + row * values.strides[0], indices.ints() + row * indices.strides[0]);
    }
  }

 private:
  static bool before(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

  // Each element finds its place among the best so far.
  static void choose(const float* x, int64_t n, int64_t k, float* values, int32_t* indices) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (count == k && (k == 0 || !before(x[i], values[k - 1]))) continue;
      int64_t place = count < k ? count++ : k - 1;
      for (; place > 0 && before(x[i], values[place - 1]); --place) {
        values[place] = values[place - 1];
        indices[place] = indices[place - 1];
      }
      values[place] = x[i];
      indices[place] = static_cast<int32_t>(i);
    }
  }
};

void topk(Builder& builder, const mil::Operation& operation) {
  const View given = builder.view(operation, "x");
  const int64_t rank = given.rank(), k = int_param(builder, operation, "k");
  constexpr int64_t kFew = 64;  // of which each element may pass all
  const bool known = k >= 0 && k <= kFew && is_float(given.storage) &&
                     normalize_axis(int_param(builder, operation, "axis"), rank) == rank - 1 &&
                     !bool_param(builder, operation, "ascending");
  const auto& outputs = operation.outputs();
  if (!known || outputs.size() != 2 ||
      run_storage(builder.info(outputs[1].get()).type) != Storage::I32) {
    fail(ErrorCode::Unsupported, "{}: no kernel for it", builder.where(operation));
  }
  const View x = builder.matrix(builder.view_as(given, Storage::F32), 1);
  const mil::Shape& shape = builder.info(outputs[0].get()).shape;
  const View values = builder.allocate(Storage::F32, shape);
  const View indices = builder.allocate(Storage::I32, shape);
  builder.emit<TopKStep>({*matrix_view(values, 1), *matrix_view(indices, 1), x});
  builder.define(outputs[0].get(), values);
  builder.define(outputs[1].get(), indices);
}

// views: y [indices, size], indices int32 [indices].
template <typename T>
class OneHotStep : public Step {
 public:
  OneHotStep(T on, T off) : on_(on), off_(off) {}
  std::string name() const override { return "one_hot"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      T* row = reinterpret_cast<T*>(y.data) + i * y.strides[0];
      std::fill_n(row, y.shape[1], off_);
      const int32_t place = indices.ints()[i * indices.strides[0]];
      if (place >= 0 && place < y.shape[1]) row[place] = on_;
    }
  }

 private:
  T on_, off_;
};

void one_hot(Builder& builder, const mil::Operation& operation) {
  const View indices = builder.contiguous(builder.ints(operation, "indices"));
  const mil::ValueInfo& output = builder.info(operation.output());
  const auto rank = static_cast<int64_t>(output.shape.size());
  const Storage storage = run_storage(output.type);
  if (normalize_axis(int_param(builder, operation, "axis"), rank) != rank - 1 ||
      (storage != Storage::F32 && storage != Storage::I32)) {
    fail(ErrorCode::Unsupported, "{}: no kernel for it", builder.where(operation));
  }
  const double on = float_param(builder, operation, "on_value");
  const double off = float_param(builder, operation, "off_value");
  const View flat = *reshape_view(indices, {mil::num_elements(indices.shape)});
  const View y = builder.allocate(storage, output.shape);
  const View rows = *reshape_view(y, {flat.shape[0], output.shape.back()});
  if (storage == Storage::F32) {
    builder.emit<OneHotStep<float>>({rows, flat}, static_cast<float>(on), static_cast<float>(off));
  } else {
    builder.emit<OneHotStep<int32_t>>({rows, flat}, static_cast<int32_t>(on),
                                      static_cast<int32_t>(off));
  }
  builder.define_output(operation, y);
}

}  // namespace

void add_choice_rules(Rules& rules) {
  rules["topk"] = topk;
  rules["one_hot"] = one_hot;
}

}  // namespace pippin::engine
