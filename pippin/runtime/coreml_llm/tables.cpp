#include "pippin/runtime/coreml_llm/tables.h"

#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/io/digest.h"
#include "pippin/io/npy.h"

namespace pippin::runtime {

namespace fs = std::filesystem;

namespace {

std::shared_ptr<const MappedFile> open_rows(const fs::path& path, int64_t rows, int64_t row_bytes) {
  auto file = MappedFile::open(path);
  if (checked_mul(rows, row_bytes) != std::ssize(file->bytes())) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes, {} rows of {} are expected", path.string(),
         file->bytes().size(), rows, row_bytes);
  }
  return file;
}

}  // namespace

QuantizedTable::QuantizedTable(const fs::path& folder, std::string_view stem, int64_t rows,
                               int64_t width, float factor)
    : values_(open_rows(folder / fmt::format("{}_q8.bin", stem), rows, width)),
      scales_(open_rows(folder / fmt::format("{}_scales.bin", stem), rows, sizeof(float16))),
      width_(width),
      factor_(factor) {}

void QuantizedTable::copy_row(int64_t row, std::span<float> target) const {
  float16 stored;
  std::memcpy(&stored, scales_->bytes().data() + row * static_cast<int64_t>(sizeof(float16)),
              sizeof(float16));
  constexpr float kMost = 127;
  const float scale = to_float(stored) / kMost * factor_;
  const std::byte* const values = values_->bytes().data() + row * width_;
  for (size_t i = 0; i < target.size(); ++i) {
    target[i] = to_float(to_float16(static_cast<float>(static_cast<int8_t>(values[i])) * scale));
  }
}

void QuantizedTable::add_to(Digest& digest) const {
  digest.update(values_->bytes());
  digest.update(scales_->bytes());
  digest.update(std::as_bytes(std::span(&factor_, 1)));
}

AngleTable::AngleTable(std::span<const fs::path> folders, std::string_view name) {
  const std::string file = fmt::format("{}.npy", name);
  for (const fs::path& folder : folders) {
    const fs::path path = folder / file;
    if (!fs::is_regular_file(path)) continue;
    const NpyArray array = read_npy(path);
    if (array.shape.size() != 2 || array.shape[0] < 1 || array.shape[1] < 1) {
      fail(ErrorCode::InvalidFile,
           "{}: an array of {} dimensions, (positions, features) is expected", path.string(),
           array.shape.size());
    }
    positions_ = array.shape[0];
    width_ = array.shape[1];
    values_ = array.to_floats();
    return;
  }
  fail(ErrorCode::NotFound, "{}: there is no such file", (folders.front() / file).string());
}

void AngleTable::add_to(Digest& digest) const {
  digest.update(std::as_bytes(std::span(values_)));
}

}  // namespace pippin::runtime
