// Adapters that each run of a function chooses from: an input of the function has a number for each
// adapter, by which its change is multiplied
// (docs/decisions/0041-runs-choose-their-adapters.md).
//
//   y = W x + B (s * (A x))     A (ranks, in) and B (out, ranks) of all adapters one after another;
//                               s (ranks): the adapter's number times the scale of its change
//
// With DoRA (Liu et al., "DoRA: Weight-Decomposed Low-Rank Adaptation", 2024), where a row of the
// sum has the length m instead of its own, c = m / |W + scale B A| by row, B is c * B, and
// (n · (c - 1)) * W x is added, with the adapter's number n.
//
// Tensors that an adapter replaces (modules_to_save, trained norms and biases) become changes as
// well: n (W' x - W x) of a matrix or a table W', and n (v' - v) of a vector v' by which a norm
// multiplies or which is added.
//
// Thread-compatible: functions are recorded one after another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/data_type.h"
#include "pippin/nn/weights/lora.h"

namespace pippin::nn {

struct WeightLayout;
class RunAdapters;

// The changes of one matrix by all adapters.
struct RunMatrices {
  std::shared_ptr<RunAdapters> adapters;
  struct Narrow {
    array::Array a, b;            // (ranks, in), (out, ranks); for an embedding a is (rows, ranks)
    std::vector<int64_t> owners;  // by rank, the adapter
    std::vector<double> factors;  // by rank, the scale
    std::optional<array::Array> lengths;  // (out, adapters): c - 1
  };
  std::optional<Narrow> narrow;
  struct Whole {
    int64_t owner;
    array::Array matrix;  // of the same dims
  };
  std::vector<Whole> wholes;

  // Whether the y of add_to() may not have the bias.
  bool needs_products() const { return !wholes.empty() || (narrow && narrow->lengths); }
  // y + B (s * A x) + lengths + n (W' x - y) of each adapter, with y = W x. `multiply` gives A x
  // and W' x.
  using Multiply = std::function<array::Array(const array::Array& matrix, std::string_view name)>;
  array::Array add_to(const array::Array& y, const Multiply& multiply) const;
};

// The changes of a vector, (elements, adapters).
struct RunVectors {
  std::shared_ptr<RunAdapters> adapters;
  array::Array changes;

  array::Array sum() const;  // (1, elements)
};

class RunAdapters : public std::enable_shared_from_this<RunAdapters> {
 public:
  // `halves`: fp32 matrices are rounded to fp16, which halves their reads. Throws InvalidArgument
  // for none.
  RunAdapters(std::vector<std::shared_ptr<const LoraAdapter>> adapters, bool halves);

  int64_t count() const { return static_cast<int64_t>(adapters_.size()); }
  // The input of the function that is recorded from now on, (count()).
  void begin_function(array::Array numbers);

  // The matrix of a module as floats, the rows of the part.
  using ReadMatrix = std::function<std::vector<float>()>;
  // The changes of a module's matrix (rows, columns), or nothing if no adapter changes it. `type`
  // is that of activations. Throws as check_change(); InvalidFile if an adapter changes a table of
  // embeddings as if it were a linear layer, or the reverse.
  struct Module {
    std::string path;
    int64_t rows = 0, columns = 0;
    bool is_table = false;  // of embeddings
    bool keeps_weight_types = false;
  };
  std::optional<RunMatrices> matrices(const Module& module, const WeightLayout& layout,
                                      mil::DataType type, const ReadMatrix& read);
  // The changes of a vector by adapters that replace it, whose values become other - own; nothing
  // if none does. `convert` gives the values by which a model computes. Throws InvalidFile for
  // another number of elements.
  struct Vector {
    std::string path, name;  // "bias"
    int64_t elements = 0;
    std::function<double(double)> convert = {};
  };
  std::optional<RunVectors> vectors(const Vector& vector, const WeightLayout& layout,
                                    mil::DataType type, const ReadMatrix& read);
  // Throws InvalidFile, naming the first tensors that no module asked for.
  void check_all_used() const;

 private:
  friend struct RunMatrices;
  friend struct RunVectors;
  std::optional<RunMatrices::Narrow> narrow(const Module& module, const WeightLayout& layout,
                                            mil::DataType type, const ReadMatrix& read);
  std::vector<RunMatrices::Whole> wholes(const Module& module, const WeightLayout& layout,
                                         mil::DataType type);
  // (1, elements): the adapters' columns times their numbers.
  array::Array by_number(const array::Array& columns, std::string_view name) const;
  // The numbers times the scales of changes, by rank.
  array::Array by_rank(const std::vector<int64_t>& owners, const std::vector<double>& factors);

  std::vector<std::shared_ptr<const LoraAdapter>> adapters_;
  bool halves_;
  std::optional<array::Array> numbers_;
  std::vector<std::pair<std::pair<std::vector<int64_t>, std::vector<double>>, array::Array>>
      by_rank_;  // of this function
  // By module and part; without `adapters`.
  std::map<std::string, RunMatrices, std::less<>> made_;
  std::map<std::string, array::Array, std::less<>> vectors_;
  std::vector<std::set<std::string, std::less<>>> used_;  // tensors, by adapter
};

}  // namespace pippin::nn
