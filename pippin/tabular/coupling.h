// Class probabilities from pairwise ones.
#pragma once

#include <cstddef>
#include <vector>

namespace pippin::tabular {

// `pairs` holds the probability of i against j for the pairs (0, 1), (0, 2), ..., (1, 2), ... The
// second method of Wu, Lin and Weng (Probability Estimates for Multi-class Classification by
// Pairwise Coupling), with libsvm's stopping rule, which affects the third digit.
std::vector<double> coupled(const std::vector<double>& pairs, size_t classes);

}  // namespace pippin::tabular
