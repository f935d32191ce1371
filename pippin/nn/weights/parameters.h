// Where modules get their weights: a checkpoint's tensors by name, checked, as lazy arrays.
//
// A Parameters is a view of a checkpoint below a path: Parameters p; p.at("model").at("norm")
// .get("weight", {64}) is the tensor "model.norm.weight". Every tensor that is asked for is marked;
// check_all_used() refuses the rest, so that a model which would silently ignore weights is not
// built. Asking twice gives the same Array, so tied weights are stored once.
//
// Nothing is read here: a weight is a mapped view, or a conversion of one that runs when a package
// is written.
//
// adapted() gives the same parameters under an adapter (nn/weights/lora.h), fused into the weights
// or kept beside them, so that the functions of one program share the weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/io/checkpoint.h"
#include "pippin/mil/data_type.h"
#include "pippin/nn/weights/lora.h"
#include "pippin/nn/weights/packed_weights.h"
#include "pippin/nn/weights/stored_weights.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {

struct Precision {
  // What activations, tables and caches are made of.
  mil::DataType compute = mil::DataType::Float16;
  // Weights keep the type of the checkpoint and are cast where they are used (a plan folds the
  // cast into its kernels); otherwise they are converted to `compute` on their way out.
  bool keep_weight_types = false;
};

// How a matrix (out, in) lies in a tensor of the checkpoint, where that is not as it is used.
struct WeightLayout {
  bool transposed = false;    // (in, out): GPT-2's Conv1D
  int64_t stored_rows = 0;    // the tensor's "out"; 0: as many as are used
  std::vector<int64_t> rows;  // those that are used, in their order; empty: all
  std::string part;           // what the rows are called in the program: "q"
};

// What an adapter that is not merged adds to a matrix: scale * b · a.
struct AdapterMatrices {
  array::Array a, b;  // (rank, in) and (out, rank); of an embedding: (rows, rank), (features, rank)
  double scale;
};

class Parameters {
 public:
  Parameters(std::shared_ptr<const Checkpoint> checkpoint, Precision precision,
             const Style& style = {});

  // Weights that are in their modules' form already (nn/weights/stored_weights.h).
  Parameters(std::shared_ptr<const StoredWeights> stored, Precision precision,
             const Style& style = {});

  enum class Adapting {
    Fuse,   // get() gives the sum
    Beside  // get() gives the base's matrix, matrices_beside() what is to be added
  };
  Parameters adapted(std::shared_ptr<const LoraAdapter> adapter, Adapting how) const;
  // The same with matrices that the checkpoint may hold packed; null: it does not.
  Parameters unpacking(std::shared_ptr<const PackedWeights> packed) const;

  // The part below path() + "." + name, and this one for an empty name.
  Parameters at(std::string_view name) const;
  Parameters at(int64_t index) const { return at(std::to_string(index)); }
  // The part that this one is below: "model.layers" of "model.layers.0".
  Parameters parent() const;
  const std::string& path() const { return path_; }
  mil::DataType type() const;
  const Style& style() const;

  bool contains(std::string_view name) const;
  // Whether the checkpoint has the tensor, packed or not; false for weights in their modules' form.
  bool holds(std::string_view name) const;
  // The dims of a tensor as it lies in the checkpoint; none where that has none of this name.
  std::vector<int64_t> shape(std::string_view name) const;
  // Throws NotFound for an absent tensor, InvalidFile for one of another shape or of a type that is
  // no float, naming the tensor and both shapes.
  array::Array get(std::string_view name, const std::vector<int64_t>& dims) const;
  // The same for a tensor whose first axis is taken apart; `dims` are those of the result.
  array::Array get(std::string_view name, const std::vector<int64_t>& dims,
                   const WeightLayout& layout) const;
  // A weight of that name and of these dims that is made of other tensors, once: make(full name).
  using Maker = std::function<array::Array(const std::string& full)>;
  array::Array made(std::string_view name, const std::vector<int64_t>& dims,
                    const Maker& make) const;
  // What makers take: a tensor with what get() throws, and the checkpoint that it is in, the base's
  // or the adapter's that stands for it.
  struct Found {
    std::shared_ptr<const Checkpoint> checkpoint;
    const TensorInfo& tensor;
  };
  Found tensor(std::string_view name, const std::vector<int64_t>& dims) const;
  bool keeps_weight_types() const;

  // The change of get("weight", {out, in}, layout) that is computed separately, if there is
  // one.
  std::optional<AdapterMatrices> matrices_beside(int64_t out, int64_t in,
                                                 const WeightLayout& layout = {}) const;
  // Whether this module's matrix is the sum with an adapter's change.
  bool is_fused() const;
  // Throws what get() throws, for a tensor of these dims as they lie in the file: what depends on a
  // configuration's sizes is allocated after the file was found to have them.
  void check(std::string_view name, const std::vector<int64_t>& dims) const;
  // Throws InvalidFile where the checkpoint's tensor of these dims holds an infinity or NaN, naming
  // the tensor and the first such element. Reads all of it.
  void check_finite(std::string_view name, const std::vector<int64_t>& dims) const;
  // The elements of a small tensor (a norm's weight), read now: for weights that are stored in
  // another form than they are used in.
  std::vector<double> values(std::string_view name, const std::vector<int64_t>& dims) const;

  // The weight of a norm as it is multiplied, where the weights are in their modules' form; a
  // vector of that many elements, of type() or the given one.
  std::optional<array::Array> stored(std::string_view name, int64_t elements,
                                     std::optional<mil::DataType> type = std::nullopt) const;

  // Throws InvalidFile, naming the first tensors that no module asked for. Names that end in one
  // of `ignored` are let pass, buffers that old checkpoints carry, and those that begin with one of
  // `others`, parts that are another model's. An adapter's have to be used all of them.
  void check_all_used(std::span<const std::string_view> ignored,
                      std::span<const std::string> others = {}) const;
  // Whether a tensor's whole name begins so; true for weights in their modules' form, which have
  // other names.
  bool has_beginning(std::string_view beginning) const;
  std::string file() const;  // the checkpoint's name, for messages
  // Elements of the tensors that were asked for.
  int64_t num_parameters() const;

  // The matrix "weight" where the checkpoint holds it packed; null where it lies as it is.
  PackedPtr packed(std::string_view name, int64_t rows, int64_t columns) const;
  // In which order get("weight") takes a layer's inputs; empty: as they are.
  std::vector<int64_t> input_order(std::string_view name) const;
  // Those that were asked for, by their names.
  std::vector<std::pair<std::string, PackedPtr>> packed_matrices() const;

  // The elements of a matrix, packed or not, for makers: those of `type`, where that is not given
  // of the type that is the least loss.
  struct Elements {
    std::shared_ptr<const mil::TensorSource> source;
    mil::DataType type;
  };
  Elements elements(std::string_view name, const std::vector<int64_t>& dims,
                    std::optional<mil::DataType> type = std::nullopt) const;

 private:
  struct Store;
  struct Adaptation;
  Parameters(std::shared_ptr<Store> store, std::shared_ptr<Adaptation> adaptation,
             std::shared_ptr<const PackedWeights> packed, std::string path)
      : store_(std::move(store)),
        adaptation_(std::move(adaptation)),
        packed_(std::move(packed)),
        path_(std::move(path)) {}
  std::string full_name(std::string_view name) const;
  Found find(const std::string& full, const std::vector<int64_t>& dims) const;
  const LowRank* change() const;
  bool is_stored(const std::string& full) const;
  bool is_packed(const std::string& full) const;
  array::Array get_packed(std::string_view name, const std::vector<int64_t>& dims,
                          const WeightLayout& layout) const;
  array::Array get_stored(const std::string& key, const std::vector<int64_t>& dims,
                          mil::DataType type) const;

  std::shared_ptr<Store> store_;
  std::shared_ptr<Adaptation> adaptation_;       // null: none
  std::shared_ptr<const PackedWeights> packed_;  // null: nothing is
  std::string path_;
};

}  // namespace pippin::nn
