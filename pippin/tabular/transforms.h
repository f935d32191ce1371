// Functions that turn scores into probabilities.
#pragma once

#include <vector>

namespace pippin::tabular {

double logistic(double x);
// The cumulative probability of the normal distribution.
double probit(double x);
// Softmax in place; stable for large scores.
void softmax(std::vector<double>& scores);
// Softmax of (0, scores...).
std::vector<double> softmax_with_zero(const std::vector<double>& scores);
// Divides by the sum; zeros if the sum is zero.
void divide_by_sum(std::vector<double>& values);

}  // namespace pippin::tabular
