// The source of modules' weights: a checkpoint's tensors by name, checked, as lazy arrays.
//
// A Parameters is a view of a checkpoint below a path: Parameters p; p.at("model").at("norm")
// .get("weight", {64}) is the tensor "model.norm.weight". Every requested tensor is marked;
// check_all_used() rejects others, so that no model silently ignores weights. Requesting one twice
// gives the same Array, so tied weights are stored once.
//
// Nothing is read here: a weight is a mapped view, or a conversion of one that runs when a package
// is written.
//
// adapted() gives the same parameters under an adapter (nn/weights/lora.h), fused into the weights
// or kept separate, so that the functions of one program share the weights. With choose() each run
// chooses among several (nn/weights/run_adapters.h).
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
#include "pippin/nn/weights/run_adapters.h"
#include "pippin/nn/weights/stored_weights.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {

struct Precision {
  // The type of activations, tables and caches.
  mil::DataType compute = mil::DataType::Float16;
  // Weights keep the type of the checkpoint and are cast where they are used (a plan folds the cast
  // into its kernels); otherwise they are converted to `compute` while they are written.
  bool keep_weight_types = false;
};

// The layout of a matrix (out, in) in a tensor of the checkpoint, if it differs from its use.
struct WeightLayout {
  bool transposed = false;    // (in, out): GPT-2's Conv1D
  int64_t stored_rows = 0;    // the tensor's "out"; 0: as many as are used
  std::vector<int64_t> rows;  // those that are used, in their order; empty: all
  std::string part;           // what the rows are called in the program: "q"
  // Above 0: each of so many groups of outputs is computed of its group of inputs alone. The tensor
  // is that of a convolution, (out, in / groups, 1), or has a matrix (in, out) for each group.
  int64_t groups = 0;
  bool stacked_groups = false;
  // The used rows in adapters of the other form of checkpoints, Hugging Face's or GGUF,
  // where that differs.
  struct OtherForm {
    bool is_known = true;
    int64_t stored_rows = 0;  // as above
    std::vector<int64_t> rows;
  };
  std::optional<OtherForm> other_form;
};

// The change of a matrix by an adapter that is not merged: scale * b · a.
struct AdapterMatrices {
  array::Array a, b;  // (rank, in) and (out, rank); for an embedding: (rows, rank), (features,
                      // rank)
  double scale;
};

class Parameters {
 public:
  Parameters(std::shared_ptr<const Checkpoint> checkpoint, Precision precision,
             const Style& style = {});

  // Weights that are already in their modules' form (nn/weights/stored_weights.h).
  Parameters(std::shared_ptr<const StoredWeights> stored, Precision precision,
             const Style& style = {});

  enum class Adapting {
    Fuse,     // get() gives the sum
    Separate  // get() gives the base's matrix, separate_matrices() the change
  };
  Parameters adapted(std::shared_ptr<const LoraAdapter> adapter, Adapting how) const;
  // From now on runs choose among these adapters, in all views of this checkpoint.
  void choose(std::shared_ptr<RunAdapters> adapters) const;
  const std::shared_ptr<RunAdapters>& run_adapters() const;
  // The same with packed forms of matrices that the checkpoint may have; null: none.
  Parameters unpacking(std::shared_ptr<const PackedWeights> packed) const;

  // The part below path() + "." + name, and this one for an empty name.
  Parameters at(std::string_view name) const;
  Parameters at(int64_t index) const { return at(std::to_string(index)); }
  // The part above this one: "model.layers" for "model.layers.0".
  Parameters parent() const;
  const std::string& path() const { return path_; }
  mil::DataType type() const;
  const Style& style() const;

  bool contains(std::string_view name) const;
  // Whether the checkpoint has the tensor, packed or not; false for weights in their modules' form.
  bool holds(std::string_view name) const;
  // The dims of a tensor in the checkpoint; empty if it is absent.
  std::vector<int64_t> shape(std::string_view name) const;
  // Throws NotFound for an absent tensor, InvalidFile for one of another shape or of a type other
  // than floats, naming the tensor and both shapes.
  array::Array get(std::string_view name, const std::vector<int64_t>& dims) const;
  // The same for a tensor whose first axis is split; `dims` are those of the result.
  array::Array get(std::string_view name, const std::vector<int64_t>& dims,
                   const WeightLayout& layout) const;
  // A weight of that name and of these dims, of type() or the given one, that is made of other
  // tensors, once: make(full name).
  using Maker = std::function<array::Array(const std::string& full)>;
  array::Array made(std::string_view name, const std::vector<int64_t>& dims, const Maker& make,
                    std::optional<mil::DataType> type = std::nullopt) const;
  // The input of makers: a tensor, with the errors of get(), and its checkpoint, the base's or the
  // adapter's that replaces it.
  struct Found {
    std::shared_ptr<const Checkpoint> checkpoint;
    const TensorInfo& tensor;
  };
  Found tensor(std::string_view name, const std::vector<int64_t>& dims) const;
  bool keeps_weight_types() const;

  // The change of get("weight", {out, in}, layout) that is computed separately, if any.
  std::optional<AdapterMatrices> separate_matrices(int64_t out, int64_t in,
                                                   const WeightLayout& layout = {}) const;
  // The change of that matrix by the adapters that a run chooses, if any.
  std::optional<RunMatrices> run_matrices(int64_t out, int64_t in, const WeightLayout& layout = {},
                                          bool is_table = false) const;
  // The changes of a vector of this module by those that replace it, if any; `own`: as the model
  // computes with it.
  std::optional<RunVectors> run_vectors(std::string_view name, const array::Array& own,
                                        const WeightLayout& layout = {},
                                        std::function<double(double)> convert = {}) const;
  // Whether this module's matrix is the sum with an adapter's change.
  bool is_fused() const;
  // Throws what get() throws, for a tensor of these dims as stored in the file: data of a size from
  // the configuration is allocated only after the file was found to match.
  void check(std::string_view name, const std::vector<int64_t>& dims) const;
  // Throws InvalidFile if the checkpoint's tensor of these dims holds an infinity or NaN, naming
  // the tensor and the first such element. Reads all of it.
  void check_finite(std::string_view name, const std::vector<int64_t>& dims) const;
  // The elements of a small tensor (a norm's weight), read now: for weights that are stored in
  // another form than they are used in.
  std::vector<double> values(std::string_view name, const std::vector<int64_t>& dims) const;

  // The same of a tensor of integers of 32 or 64 bits.
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& dims) const;

  // The weight of a norm as it is multiplied, where the weights are in their modules' form; a
  // vector of that many elements, of type() or the given one.
  std::optional<array::Array> stored(std::string_view name, int64_t elements,
                                     std::optional<mil::DataType> type = std::nullopt) const;

  // Throws InvalidFile, naming the first tensors that no module asked for. Allows names that end in
  // one of `ignored`, buffers in old checkpoints, and those that begin with one of
  // `others`, parts of another model. All tensors of an adapter must be used.
  void check_all_used(std::span<const std::string_view> ignored,
                      std::span<const std::string> others = {}) const;
  // Whether a tensor's full name has this prefix; true for weights in their modules' form, which
  // have other names.
  bool has_beginning(std::string_view beginning) const;
  std::string file() const;  // the checkpoint's name, for messages
  // Elements of the requested tensors.
  int64_t num_parameters() const;

  // The matrix "weight" if the checkpoint holds it packed; null otherwise.
  PackedPtr packed(std::string_view name, int64_t rows, int64_t columns) const;
  // The order in which get("weight") reads a layer's inputs; empty: their own.
  std::vector<int64_t> input_order(std::string_view name) const;
  // Those that were requested, by name.
  std::vector<std::pair<std::string, PackedPtr>> packed_matrices() const;

  // The elements of a matrix, packed or not, for makers: of `type`, or, if not given, of the type
  // with the least loss.
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
  bool is_replaced(const std::string& full) const;  // by the adapter
  bool is_packed(const std::string& full) const;
  array::Array get_packed(std::string_view name, const std::vector<int64_t>& dims,
                          const WeightLayout& layout) const;
  array::Array get_stored(const std::string& key, const std::vector<int64_t>& dims,
                          mil::DataType type) const;

  std::shared_ptr<Store> store_;
  std::shared_ptr<Adaptation> adaptation_;       // null: none
  std::shared_ptr<const PackedWeights> packed_;  // null: nothing is packed
  std::string path_;
};

}  // namespace pippin::nn
