// Products of batches with a matrix of their own each, y[b] = x[b] · W[b]ᵀ, with a stacked weight
// in the form in which it is stored: heads' parts of latent attention.
#pragma once

#include <memory>
#include <string>

#include "pippin/engine/run/step.h"
#include "pippin/engine/weights/expert_matrices.h"

namespace pippin::engine {

// views: y [batches, m, n], x [batches, m, k] with rows of unit stride; there are as many matrices
// as batches.
std::unique_ptr<Step> make_stacked_dot(std::string name,
                                       std::shared_ptr<const ExpertMatrices> matrices,
                                       int64_t batches);

}  // namespace pippin::engine
