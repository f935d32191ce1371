// Differences between numbers that two models give for the same input.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace pippin::runtime {

// The index of the largest, the first one of equals.
int64_t argmax(std::span<const float> logits);

// Of rows of logits: KL(source || model) of their distributions, in nats, and the most likely
// tokens.
class RowAgreement {
 public:
  // Adds two rows of the same size, of the token with that number. Returns log(sum of exp(logits))
  // of the model and of the source. Throws InvalidFile for a NaN and for a row without finite
  // logits.
  std::pair<double, double> add(std::span<const float> model, std::span<const float> source,
                                int64_t position);

  int64_t rows() const { return rows_; }
  // 0 without rows.
  double mean_kl() const;
  double sum_kl() const { return sum_kl_; }
  int64_t same() const { return same_; }  // rows with the same most likely token
  double max_kl() const { return max_kl_; }
  double top1() const;  // the share of rows with the same most likely token

 private:
  int64_t rows_ = 0, same_ = 0;
  double sum_kl_ = 0, max_kl_ = 0;
};

// Of numbers: the RMS of the difference over the RMS of the source's.
class RelativeDifference {
 public:
  // Adds numbers, as many of the model as of the source.
  void add(std::span<const float> model, std::span<const float> source);
  double value() const;

 private:
  double difference_ = 0, energy_ = 0;
};

}  // namespace pippin::runtime
