#include "pippin/mil/package/weight_writer.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/package/weights.h"
#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeightFolder = "@model_path/weights/";
constexpr size_t kChunk = size_t{8} << 20;
constexpr size_t kPiece = size_t{1} << 18;

std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

}  // namespace

WeightWriter::WeightWriter(const Model& model, Progress progress) : progress_(std::move(progress)) {
  if (model.is_pipeline()) {
    collect_stages(model);
  } else if (!model.is_translated()) {
    collect(model, "weight.bin");
  }
}

void WeightWriter::write(const fs::path& folder) {
  uint64_t done = 0;
  for (const File& file : files_) {
    if (file.weights.empty()) continue;
    fs::create_directories(folder);
    BlobWriter writer(folder / file.name);
    for (const Weight& weight : file.weights) {
      const DataType type = weight.value->type.data_type;
      const auto used = weight.value->type.num_elements() * bit_width(type) % 8;
      references_[identity_of(*weight.value)] = {
          std::string(kWeightFolder) + file.name,
          writer.begin(*blob_type(type), weight.size, static_cast<uint64_t>((8 - used) % 8))};
      stream(weight, writer, done);
      done += weight.size;
      if (progress_) progress_(done, total_);
    }
    writer.finish();
  }
}

uint64_t WeightWriter::lay_out() {
  uint64_t total = 0;
  for (const File& file : files_) {
    if (file.weights.empty()) continue;
    BlobLayout layout;
    for (const Weight& weight : file.weights) {
      references_[identity_of(*weight.value)] = {std::string(kWeightFolder) + file.name,
                                                 layout.add(weight.size)};
    }
    total += layout.size();
  }
  return total;
}

std::optional<BlobReference> WeightWriter::find(const Value& value) const {
  const auto it = references_.find(identity_of(value));
  if (it == references_.end()) return std::nullopt;
  return it->second;
}

// Each program of a pipeline has its own file, named as by coremltools.
void WeightWriter::collect_stages(const Model& pipeline) {
  for (const PipelineStage& stage : pipeline.stages) {
    if (stage.model.is_pipeline()) {
      collect_stages(stage.model);
    } else if (!stage.model.is_translated()) {
      collect(stage.model, fmt::format("{}-weight.bin", files_.size()));
    }
  }
}

void WeightWriter::collect(const Model& model, std::string file_name) {
  File& file = files_.emplace_back(File{std::move(file_name), {}});
  for_each_constant(model.program, [&](const Value& value, const ConstantPlace& place) {
    // Other than operands of operations, only constants that came from a file go to one.
    if (!place.operand && value.source == nullptr) return;
    if (!belongs_in_weight_file(value, model.specification_version)) return;
    if (value.source == nullptr) by_bytes_.emplace(bytes_of(value), &value);
    if (!references_.emplace(identity_of(value), BlobReference()).second) return;
    const uint64_t size = packed_size(value.type.data_type, value.type.num_elements());
    file.weights.push_back({&value, size});
    total_ += size;
  });
}

WeightWriter::Identity WeightWriter::identity_of(const Value& value) const {
  if (value.source != nullptr) return {value.source.get(), value.type.data_type};
  const auto found = by_bytes_.find(bytes_of(value));
  return {found == by_bytes_.end() ? &value : found->second, value.type.data_type};
}

void WeightWriter::stream(const Weight& weight, BlobWriter& writer, uint64_t done) {
  const TensorSource* source = weight.value->source.get();
  if (source == nullptr) {
    check_cancel();
    return writer.append(weight.value->read_bytes());
  }
  if (source->size() != weight.size) {
    fail(ErrorCode::InvalidArgument, "a source of {} bytes for a {}", source->size(),
         to_string(weight.value->type));
  }
  const ByteSpan view = source->view();
  for (uint64_t offset = 0; offset < weight.size; offset += kChunk) {
    check_cancel();
    const size_t count = std::min<uint64_t>(kChunk, weight.size - offset);
    if (!view.empty()) {
      // Copied through a buffer that stays in the cache: the system copies from it faster than from
      // pages that are not mapped yet.
      for (size_t begin = 0; begin < count; begin += kPiece) {
        const ByteSpan piece = view.subspan(offset + begin, std::min(kPiece, count - begin));
        buffer_.assign(piece.begin(), piece.end());
        writer.append(buffer_);
      }
    } else {
      buffer_.resize(count);
      source->read(offset, buffer_);
      writer.append(buffer_);
    }
    // Released after each chunk: a single embedding may be larger than the available memory.
    source->release();
    if (progress_) progress_(done + offset, total_);
  }
}

}  // namespace pippin::mil
