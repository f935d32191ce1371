// Tables of CoreML-LLM's bundle, of which a chunk takes a row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/base/files/mapped_file.h"

namespace pippin {
class Digest;
}

namespace pippin::runtime {

// STEM_q8.bin, rows of int8, and STEM_scales.bin, an fp16 number for each row. Values are rounded
// to fp16.
class QuantizedTable {
 public:
  // `factor` multiplies all rows. Throws InvalidFile for files of other sizes.
  QuantizedTable(const std::filesystem::path& folder, std::string_view stem, int64_t rows,
                 int64_t width, float factor);

  int64_t width() const { return width_; }
  void copy_row(int64_t row, std::span<float> target) const;
  void add_to(Digest& digest) const;

 private:
  std::shared_ptr<const MappedFile> values_, scales_;
  int64_t width_;
  float factor_;
};

// NAME.npy (positions, features).
class AngleTable {
 public:
  // From one of the folders. Throws NotFound, and InvalidFile for another shape.
  AngleTable(std::span<const std::filesystem::path> folders, std::string_view name);

  int64_t positions() const { return positions_; }
  int64_t width() const { return width_; }
  std::span<const float> row(int64_t position) const {
    return std::span(values_).subspan(static_cast<size_t>(position * width_),
                                      static_cast<size_t>(width_));
  }
  void add_to(Digest& digest) const;

 private:
  int64_t positions_ = 0, width_ = 0;
  std::vector<float> values_;
};

}  // namespace pippin::runtime
