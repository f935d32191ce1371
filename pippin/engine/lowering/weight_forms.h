// The forms in which weights of products are kept, in one list: a weight gets the first form that
// fits.
//
// A new form needs its data (like weights/e4m7_weight.h), an alternative of Weight (nodes/dot.h),
// the step that multiplies it (like cpu/e4m7_dot.cpp) and an entry in the list in weight_forms.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The weight of one product y = x · wᵀ.
class WeightUse {
 public:
  // `given`: x [m, k]. `matrix` gives w [n, k] in a type of floats, expanded if it must be.
  // `rows_are_own`: the rows of the value that the parameter is bound to are those of w.
  WeightUse(const mil::Operation& user, View given, std::string_view name, bool rows_are_own,
            std::function<View()> matrix)
      : operation(user),
        x(std::move(given)),
        parameter(name),
        own_rows(rows_are_own),
        make_matrix_(std::move(matrix)) {}

  const mil::Operation& operation;
  View x;
  std::string_view parameter;
  bool own_rows;

  // Made when a form first asks for it.
  const View& matrix() const {
    if (!matrix_) matrix_ = make_matrix_();
    return *matrix_;
  }

 private:
  std::function<View()> make_matrix_;
  mutable std::optional<View> matrix_;
};

// The weight [n, k] in one form.
struct FoundWeight {
  int64_t n = 0;
  Weight weight;
  std::optional<View> w = std::nullopt;  // set if it is dense
  std::string form = {};                 // " int4", for the name of the node
};

// Nothing if the weight has another form, or x needs another one.
using WeightForm = std::optional<FoundWeight> (*)(Builder& builder, const WeightUse& use);

// The most compressed first.
std::span<const WeightForm> weight_forms();

}  // namespace pippin::engine
