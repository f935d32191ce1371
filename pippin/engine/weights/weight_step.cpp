#include "pippin/engine/weights/weight_step.h"

#include <cassert>

#include "pippin/base/checked.h"

namespace pippin::engine {

std::string WeightStep::name() const {
  std::string text = products_.size() == 1 ? name_ : std::to_string(products_.size()) + " " + name_;
  text += " (" + kernel_name() + ")";
  return residual_ ? text + " + residual" : text;
}

int64_t WeightStep::num_columns() const {
  int64_t columns = 0;
  for (const Product& product : products_) columns += product.n;
  return columns;
}

void WeightStep::place_operands() {
  places_.clear();
  all_columns_ = 0;
  size_t next = products_.size() + 1;  // after the results and x
  for (const Product& product : products_) {
    Place place;
    if (product.weight_view) place.w = next++;
    if (product.bias) place.bias = next++;
    place.column = all_columns_;
    all_columns_ += align_up(product.n, grain_);
    places_.push_back(place);
  }
  num_written = products_.size();
}

bool WeightStep::absorb(WeightStep& other) {
  if (residual_ || other.residual_ || name_ != other.name_ || grain_ != other.grain_ ||
      !computes_like(other)) {
    return false;
  }
  std::vector<View> all(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(num_written));
  const auto results = std::span(other.views).first(other.num_written);
  all.insert(all.end(), results.begin(), results.end());
  all.insert(all.end(), views.begin() + static_cast<std::ptrdiff_t>(num_written), views.end());
  const auto rest = other.other_operands();
  all.insert(all.end(), rest.begin(), rest.end());
  views = std::move(all);
  products_.insert(products_.end(), other.products_.begin(), other.products_.end());
  take_weights(other);
  place_operands();
  return true;
}

std::unique_ptr<WeightStep> WeightStep::with_residual(const View& y, const View& residual) const {
  assert(products_.size() == 1 && !residual_);
  auto step = clone();
  step->views[0] = y;
  step->views.push_back(residual);
  step->residual_ = true;
  return step;
}

void WeightStep::add_residual(const Operand& y, const Operand& residual, Range rows,
                              Range columns) const {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    float* sum = y.floats() + i * y.strides[0] + columns.begin;
    const float* added = residual.floats() + i * residual.strides[0] + columns.begin;
    adder_->binary(kernels::BinaryOp::Add, sum, 1, added, 1, sum, columns.end - columns.begin);
  }
}

}  // namespace pippin::engine
