// The weights of a model in the form in which its modules use them: those of a package that Pippin
// made, of any family, or random ones for a model without a checkpoint.
//
// In a package a weight has the name of its tensor in the checkpoint, as an identifier, and is
// already rearranged (rows of one matrix for queries, keys and values separated, norms as they are
// multiplied). So the same model can be recorded again in another shape.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/model.h"

namespace pippin::nn {

class StoredWeights {
 public:
  virtual ~StoredWeights() = default;
  // The weight of that path, of these dims: an fp16 or fp32 constant of `type`, or the operation
  // that expands a compressed one. Throws NotFound, InvalidFile (another size or type), Unsupported
  // (compressed in another shape).
  virtual array::Array get(std::string_view path, const std::vector<int64_t>& dims,
                           mil::DataType type) const = 0;
  virtual bool contains(std::string_view path) const = 0;
};

// The default functions of the packages of one model.
std::shared_ptr<const StoredWeights> package_weights(
    std::vector<std::shared_ptr<const mil::Model>> packages);

// Random numbers of the magnitude of trained ones that depend on path and position only: for
// benchmarks. Those of a bf16 checkpoint are rounded to bf16 first: they have 8 significant bits in
// any later type.
std::shared_ptr<const StoredWeights> random_weights(bool of_bf16);

}  // namespace pippin::nn
