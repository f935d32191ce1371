// Scales of the inputs of matrices, folded into the norms before them: `--scale-inputs`.
//
// AWQ (Lin et al., 2023): a matrix keeps its function if its columns are multiplied by scales and
// its inputs divided by them. The errors of large columns then count less against those of small
// ones. The division is exact and takes no time if it is applied to the weight of the norm whose
// result the matrices multiply, and nothing else reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"
#include "pippin/mil/model.h"

namespace pippin::app {

// A norm's weight and the matrices that multiply its result, by the names of the constants.
struct NormGroup {
  std::string norm;
  std::vector<std::string> weights;  // (channels, inputs), in program order
  int64_t inputs = 0;
};

// The norms of a program of one function, in program order, whose result is x times a constant that
// nothing else reads, and is read by products with constant matrices alone, which nothing else
// reads. None for programs of several functions, which may share constants.
std::vector<NormGroup> norm_groups(const mil::Model& model);

// Per norm, the scale of each input.
using InputScales = std::map<std::string, std::vector<float>>;

// Multiplies the columns of the groups' matrices by the scales of their norms, and divides the
// norms' weights by them. Matrices are converted when they are read.
void apply(const InputScales& scales, mil::Model& model);

// The scales (root mean square^a / magnitude^b of each input and column, for a from 0 to 1 and b of
// 0, 0.5 and 1) with the smallest error of the products with the statistics' inputs, relative to
// that without scales and averaged over the matrices of a norm; only norms whose error is lower,
// and whose matrices `recipe` compresses, all with known inputs. Errors are measured after error
// feedback without rounds.
InputScales search_scales(const std::filesystem::path& package, const compress::Recipe& recipe,
                          const std::shared_ptr<compress::InputStatistics>& statistics,
                          int threads);

}  // namespace pippin::app
