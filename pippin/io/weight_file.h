// Reads a file of weights, in any format of published models, as a set of tensors.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "pippin/base/files/mapped_file.h"
#include "pippin/io/gguf.h"
#include "pippin/io/safetensors.h"

namespace pippin {

// Tensors are views of the mapped file. Only compressed arrays of an .npz and tensors of a .bin
// that are not row-major are unpacked into memory.
class WeightFile {
 public:
  // The extension determines the format: .safetensors, .bin (PyTorch; GGML by its first bytes),
  // .npz (MLX), .gguf. Throws Unsupported for others. Block-quantized tensors of GGUF and GGML are
  // U8 of shape (..., bytes per row), with the type at the end of the name:
  // "blk.0.attn_q.weight.q4_k".
  static std::shared_ptr<const WeightFile> open(const std::filesystem::path& path);
  static bool is_known(const std::filesystem::path& path);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const MappedFile& file() const { return *file_; }
  // Tells the system that a tensor's bytes will not be needed soon.
  void release(const TensorInfo& tensor) const noexcept;

 private:
  explicit WeightFile(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  void add_npz();
  void add_blocks(std::vector<GgufTensor> tensors);

  std::shared_ptr<const MappedFile> file_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::vector<std::byte>> unpacked_;
};

}  // namespace pippin
