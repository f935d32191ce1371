// The forms in which weights of products are kept, in one list: the first that a weight has makes
// the step that multiplies it.
//
// A new form brings a file in weights/ (as e4m7_weight.h: what is kept, and the WeightStep that
// multiplies it, with the bytes that it reads and saves) and an entry in the list in
// weight_forms.cpp. Nothing else asks which forms there are.
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

// How a step multiplies a weight.
struct WeightDot {
  std::unique_ptr<Step> step;  // a WeightStep; views: y, x, w if it is not null, bias if it has one
  mil::Dim n;
  std::optional<View> w;
};

// Reads the weight in one form: nothing where it has another, or x wants another.
using WeightForm = std::optional<WeightDot> (*)(Builder& builder, const WeightUse& use,
                                                const std::string& name, bool bias);

// The most compressed first.
std::span<const WeightForm> weight_forms();

}  // namespace pippin::engine
