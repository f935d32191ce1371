#include "pippin/runtime/row_agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "pippin/base/error.h"

namespace pippin::runtime {
namespace {

double log_sum_exp(std::span<const float> logits, std::string_view whose, int64_t position) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) {
    if (std::isnan(logit)) {
      fail(ErrorCode::InvalidFile, "{} gives NaN after token {}", whose, position);
    }
    largest = std::max(largest, static_cast<double>(logit));
  }
  if (!std::isfinite(largest)) {
    fail(ErrorCode::InvalidFile, "{} gives no finite logit after token {}", whose, position);
  }
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

double divergence(std::span<const float> source, double source_norm, std::span<const float> model,
                  double model_norm) {
  double kl = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const double log_p = static_cast<double>(source[i]) - source_norm;
    const double p = std::exp(log_p);
    if (p > 0) kl += p * (log_p - (static_cast<double>(model[i]) - model_norm));
  }
  return std::max(kl, 0.0);  // rounding may leave a small negative number
}

}  // namespace

int64_t argmax(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::pair<double, double> RowAgreement::add(std::span<const float> model,
                                            std::span<const float> source, int64_t position) {
  const double norm = log_sum_exp(model, "the model", position);
  const double source_norm = log_sum_exp(source, "the source", position);
  const double kl = divergence(source, source_norm, model, norm);
  sum_kl_ += kl;
  max_kl_ = std::max(max_kl_, kl);
  same_ += argmax(model) == argmax(source) ? 1 : 0;
  ++rows_;
  return {norm, source_norm};
}

double RowAgreement::mean_kl() const {
  return rows_ > 0 ? sum_kl_ / static_cast<double>(rows_) : 0;
}

double RowAgreement::top1() const {
  return rows_ > 0 ? static_cast<double>(same_) / static_cast<double>(rows_) : 0;
}

void RelativeDifference::add(std::span<const float> model, std::span<const float> source) {
  for (size_t i = 0; i < model.size(); ++i) {
    const double a = static_cast<double>(model[i]), b = static_cast<double>(source[i]);
    difference_ += (a - b) * (a - b);
    energy_ += b * b;
  }
}

double RelativeDifference::value() const {
  if (!(energy_ > 0)) return difference_ > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return std::sqrt(difference_ / energy_);
}

}  // namespace pippin::runtime
