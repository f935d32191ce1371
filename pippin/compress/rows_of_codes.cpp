#include "pippin/compress/rows_of_codes.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/numbers/float16.h"
#include "pippin/compress/levels.h"

namespace pippin::compress {

RowsOfCodes::RowsOfCodes(const CodedMatrix& of, int64_t limit)
    : of_(of),
      inputs_(of.view.inputs()),
      values_(static_cast<size_t>(limit * inputs_)),
      now_(values_.size()),
      gradients_(values_.size()),
      errors_(values_.size()) {}

void RowsOfCodes::load(int64_t first, int64_t count) {
  first_ = first;
  count_ = count;
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t begin = 0; begin < inputs_; begin += of_.view.block()) {
      const Levels levels(of_.result, of_.encoding, of_.view.block_index(first + r, begin),
                          of_.type);
      for (int64_t i = begin; i < begin + of_.view.block(); ++i) {
        values_[at(r, i)] = of_.view.value_at(first + r, i);
        now_[at(r, i)] = levels.value(code(r, i));
      }
    }
  }
}

void RowsOfCodes::compute_gradients() {
  const size_t size = at(count_, 0);
  for (size_t i = 0; i < size; ++i) errors_[i] = values_[i] - now_[i];
  of_.feedback.multiply(errors_.data(), count_, gradients_.data());
}

bool RowsOfCodes::descend() {
  bool changed = false;
  for (int64_t r = 0; r < count_; ++r) changed = descend(r) || changed;
  return changed;
}

bool RowsOfCodes::descend(int64_t row) {
  const int64_t block = of_.view.block();
  float* gradients = gradients_.data() + at(row, 0);
  bool changed = false;
  for (int64_t begin = 0; begin < inputs_; begin += block) {
    const int64_t* order = of_.feedback.order().data() + begin;
    const Levels levels(of_.result, of_.encoding, of_.view.block_index(first_ + row, *order),
                        of_.type);
    for (int64_t k = 0; k < block; ++k) {
      const int64_t i = order[k];
      float& now = now_[at(row, i)];
      const auto [best, value] = levels.nearest(now + gradients[i] / of_.feedback.moment(i));
      if (value == now) continue;
      code(row, i) = best;
      of_.feedback.add_row(i, now - value, gradients);
      now = value;
      changed = true;
    }
  }
  return changed;
}

bool RowsOfCodes::fit_scales() {
  const int64_t block = of_.view.block(), blocks = inputs_ / block;
  steps_.resize(values_.size());
  products_.resize(values_.size());
  shares_.resize(static_cast<size_t>(count_ * blocks));
  for (int64_t r = 0; r < count_; ++r) propose_steps(r);
  of_.feedback.multiply(steps_.data(), count_, products_.data());
  // The best multiple of each row's proposal; the error is tested with the scales as stored.
  const std::vector<float> before = now_, gradients_before = gradients_;
  std::vector<float> scales(shares_.size());
  std::vector<double> errors(static_cast<size_t>(count_));
  for (int64_t r = 0; r < count_; ++r) {
    errors[static_cast<size_t>(r)] = output_error(r);
    double slope = 0, curve = 0;
    for (int64_t i = 0; i < inputs_; ++i) {
      slope += double{steps_[at(r, i)]} * double{gradients_[at(r, i)]};
      curve += double{steps_[at(r, i)]} * double{products_[at(r, i)]};
    }
    const double length = curve > 0 ? slope / curve : 0;
    for (int64_t b = 0; b < blocks; ++b) {
      const size_t index = of_.view.block_index(first_ + r, b * block);
      const auto own = static_cast<size_t>(r * blocks + b);
      scales[own] = of_.result.scales[index];
      of_.result.scales[index] = new_scale(scales[own], length * double{shares_[own]});
      const Levels levels(of_.result, of_.encoding, index, of_.type);
      for (int64_t i = b * block; i < (b + 1) * block; ++i) {
        now_[at(r, i)] = levels.value(code(r, i));
      }
    }
  }
  compute_gradients();
  bool changed = false;
  for (int64_t r = 0; r < count_; ++r) {
    if (output_error(r) < errors[static_cast<size_t>(r)]) {
      changed = true;
      continue;
    }
    const auto first = static_cast<ptrdiff_t>(at(r, 0));
    std::copy_n(before.begin() + first, inputs_, now_.begin() + first);
    std::copy_n(gradients_before.begin() + first, inputs_, gradients_.begin() + first);
    for (int64_t b = 0; b < blocks; ++b) {
      of_.result.scales[of_.view.block_index(first_ + r, b * block)] =
          scales[static_cast<size_t>(r * blocks + b)];
    }
  }
  return changed;
}

// Each block's own best scale, if all others stay.
void RowsOfCodes::propose_steps(int64_t row) {
  const int64_t block = of_.view.block(), blocks = inputs_ / block;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = b * block;
    double slope = 0, curve = 0;
    // With one block, the length of the step is found later.
    for (int64_t i = begin; blocks > 1 && i < begin + block; ++i) {
      const float now = now_[at(row, i)];
      slope += double{now} * double{gradients_[at(row, i)]};
      if (now == 0) continue;
      curve += double{now} * double{now} * double{of_.feedback.moment(i)};
      const float* moments = of_.feedback.after(i);
      float sum = 0;
      for (int64_t j = i + 1; j < begin + block; ++j) sum += now_[at(row, j)] * moments[j - i - 1];
      curve += 2 * double{now} * double{sum};
    }
    const double share = blocks == 1 ? 1 : curve > 0 ? slope / curve : 0;
    shares_[static_cast<size_t>(row * blocks + b)] = static_cast<float>(share);
    for (int64_t i = begin; i < begin + block; ++i) {
      steps_[at(row, i)] = now_[at(row, i)] * static_cast<float>(share);
    }
  }
}

// Never 0, and of the same sign.
float RowsOfCodes::new_scale(float scale, double share) const {
  const auto wanted = static_cast<float>(double{scale} * std::max(1 + share, 0.5));
  if (of_.type != mil::DataType::Float16) return std::isfinite(wanted) ? wanted : scale;
  const float stored = to_float(to_float16(wanted));
  return stored != 0 && std::isfinite(stored) ? stored : scale;
}

double RowsOfCodes::squared_error() const {
  double sum = 0;
  for (size_t i = 0; i < at(count_, 0); ++i) {
    const double error = double{values_[i]} - double{now_[i]};
    sum += error * error;
  }
  return sum;
}

double RowsOfCodes::output_error() const {
  double sum = 0;
  for (int64_t r = 0; r < count_; ++r) sum += output_error(r);
  return sum;
}

double RowsOfCodes::output_error(int64_t row) const {
  double sum = 0;
  for (size_t i = at(row, 0); i < at(row + 1, 0); ++i) {
    sum += (double{values_[i]} - double{now_[i]}) * double{gradients_[i]};
  }
  return std::max(sum, 0.0);
}

}  // namespace pippin::compress
