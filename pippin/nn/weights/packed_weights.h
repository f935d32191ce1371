// The compressed forms of matrices in checkpoints: the tensors of each, and the layout of its codes
// and scales. One file per form; models/quantization.h chooses one by the configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/nn/weights/packed_matrix.h"

namespace pippin::nn {

class PackedWeights {
 public:
  virtual ~PackedWeights() = default;
  // The tensors that hold the matrix of that name ("model.layers.0.mlp.up_proj.weight"); none if it
  // is not packed.
  virtual std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                           const std::string& name) const = 0;
  // The matrix (out, in) that tensors() found. Throws NotFound or InvalidFile, naming the tensor
  // and both shapes, if its parts do not fit such a matrix; Unsupported.
  virtual PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint,
                           const std::string& name, int64_t rows, int64_t columns) const = 0;
  // Whether a tensor is unrelated to the weights: the scales of activations.
  virtual bool is_unused(const Checkpoint& /*checkpoint*/, const TensorInfo& /*tensor*/) const {
    return false;
  }
};
using PackedWeightsPtr = std::shared_ptr<const PackedWeights>;

// BitNet's: U8 "weight" (out / 4, in), where bits 2i of a byte are the value of row byte_row + i *
// out / 4 plus one, and "weight_scale" (1), which multiplies or divides the values.
PackedWeightsPtr ternary_weights(bool divides);

// GPTQ's: I32 "qweight" (in * bits / 32, out), one stream of bits along the inputs, "qzeros"
// (groups, out * bits / 32), "scales" (groups, out) and "g_idx" (in), the group of each input.
struct GptqOptions {
  std::optional<int64_t> bits, group_size;  // if the shapes do not determine them
  bool zeros_less_one = true;               // the file's zeros are the actual ones minus one
};
PackedWeightsPtr gptq_weights(const GptqOptions& options);

// AWQ's ("gemm"): I32 "qweight" (in, out / 8), "qzeros" (groups, out / 8), nibbles in the order
// 0, 2, 4, 6, 1, 3, 5, 7, "scales" (groups, out).
PackedWeightsPtr awq_weights();

// MLX's: U32 "weight" (out, in * bits / 32), "scales" and, in the affine mode, "biases" (out,
// groups). The other modes are floats with scales of one byte: powers of two, for nvfp4 E4M3.
enum class MlxMode { Affine, Mxfp4, Mxfp8, Nvfp4 };
struct MlxOptions {
  MlxMode mode = MlxMode::Affine;
  std::map<std::string, MlxMode, std::less<>> modes = {};  // of single modules, by their paths
};
PackedWeightsPtr mlx_weights(const MlxOptions& options = {});

// compressed-tensors': I32 "weight_packed", or I8 or 8-bit floats as "weight", with "weight_scale",
// "weight_zero_point", "weight_g_idx"; and other 8-bit floats: "weight" with "weight_scale" or
// "weight_scale_inv", one for each block of `block` rows and columns.
struct ScaledOptions {
  std::vector<int64_t> bits;                         // named by the configuration, likeliest first
  std::optional<std::pair<int64_t, int64_t>> block;  // rows and columns
};
PackedWeightsPtr scaled_weights(const ScaledOptions& options);

// bitsandbytes': U8 "weight" of nibbles in flat blocks, with "weight.absmax", "weight.quant_map"
// and "weight.quant_state.*"; I8 "weight" with "SCB" (out), 1/127 of which scales its row.
PackedWeightsPtr bitsandbytes_weights();

// GGUF's blocks: U8 "weight.q4_k" and the like, as named by io/weight_file.h.
PackedWeightsPtr gguf_weights();

// ---- shared by the forms

// "model.layers.0.mlp.up_proj" for "model.layers.0.mlp.up_proj.weight"; empty for another name.
std::string module_of(const std::string& name);

// The names that the checkpoint has, if it has the first; else none.
std::vector<std::string> present(const Checkpoint& checkpoint,
                                 const std::vector<std::string>& names);

// Integers of 1 to 8 bits in a stream of little-endian words, the first one lowest.
inline uint8_t stream_code(const std::byte* bytes, uint64_t index, unsigned bits) {
  const uint64_t bit = index * bits;
  const auto first = static_cast<unsigned>(bytes[bit / 8]);
  const unsigned shift = bit % 8;
  unsigned word = first >> shift;
  if (shift + bits > 8) word |= static_cast<unsigned>(bytes[bit / 8 + 1]) << (8 - shift);
  return static_cast<uint8_t>(word & ((1u << bits) - 1));
}

// A part of a packed matrix: its bytes, and its elements as floats.
class PackedPart {
 public:
  // Throws NotFound or InvalidFile unless there is a tensor of these dims and of one of the types.
  PackedPart(std::shared_ptr<const Checkpoint> checkpoint, const std::string& name,
             const std::vector<int64_t>& dims, const std::vector<Dtype>& types);

  const std::byte* bytes() const { return tensor_->bytes.data(); }
  const TensorInfo& tensor() const { return *tensor_; }
  // F32, F16, BF16 or F64; integers of 8 and 32 bits as they are.
  float number(int64_t index) const;
  int64_t integer(int64_t index) const;  // I32, U32, I64, I8, U8
  void describe(mil::Recipe& recipe) const { recipe.bytes(tensor_->bytes); }
  void release() const noexcept;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  const TensorInfo* tensor_;
};
// The values of the codes of small floats: E2M1's 16, E4M3's and E5M2's 256. Codes of infinities
// and NaN, which weights do not have, count as the next numbers.
std::vector<float> float4_palette();
std::vector<float> float8_palette(Dtype type);

// The types that scales have.
inline const std::vector<Dtype>& float_types() {
  static const std::vector<Dtype> types = {Dtype::F16, Dtype::BF16, Dtype::F32, Dtype::F8E8M0};
  return types;
}

// The columns sorted by group, each group in their original order; nothing if they are sorted
// already, or if not all groups have `size` columns (then `regular` is false). Throws InvalidFile
// for a group that is not below `count`.
struct GroupOrder {
  std::vector<int64_t> columns;
  bool regular = true;
};
GroupOrder order_of_groups(const PackedPart& index, int64_t columns, int64_t size, int64_t count);

}  // namespace pippin::nn
