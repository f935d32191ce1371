#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "pippin/base/cancel.h"
#include "pippin/base/checked.h"
#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/manifest.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/weights.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelItem = "com.apple.CoreML";
constexpr std::string_view kWeightFolder = "@model_path/weights/";
constexpr size_t kChunk = size_t{8} << 20;

// What is written to a weight file once, however many constants share it.
struct Weight {
  const Value* value;
  uint64_t size;
};

class WeightWriter {
 public:
  WeightWriter(const Model& model, const WriteOptions& options) : options_(options) {
    if (model.is_pipeline()) {
      collect_stages(model);
    } else if (!model.is_translated()) {
      collect(model, "weight.bin");
    }
  }

  uint64_t total() const { return total_; }

  void write(const fs::path& folder) {
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
        if (options_.progress) options_.progress(done, total_);
      }
      writer.finish();
    }
  }

  std::optional<BlobReference> find(const Value& value) const {
    const auto it = references_.find(identity_of(value));
    if (it == references_.end()) return std::nullopt;
    return it->second;
  }

 private:
  struct File {
    std::string name;
    std::vector<Weight> weights;
  };

  // The programs of a pipeline have a file each, as coremltools names them: 0-weight.bin, ...
  void collect_stages(const Model& pipeline) {
    for (const PipelineStage& stage : pipeline.stages) {
      if (stage.model.is_pipeline()) {
        collect_stages(stage.model);
      } else if (!stage.model.is_translated()) {
        collect(stage.model, fmt::format("{}-weight.bin", files_.size()));
      }
    }
  }

  void collect(const Model& model, std::string file_name) {
    File& file = files_.emplace_back(File{std::move(file_name), {}});
    for_each_constant(model.program, [&](const Value& value, const ConstantPlace& place) {
      // Beside the operands of operations only what comes from a file goes to one.
      if (!place.operand && value.source == nullptr) return;
      if (!belongs_in_weight_file(value, model.specification_version)) return;
      if (value.source == nullptr) by_bytes_.emplace(bytes_of(value), &value);
      if (!references_.emplace(identity_of(value), BlobReference()).second) return;
      const uint64_t size = packed_size(value.type.data_type, value.type.num_elements());
      file.weights.push_back({&value, size});
      total_ += size;
    });
  }

  // Constants with the same source are one weight, and so are those with the same bytes: functions
  // that were recorded one by one have their own tables.
  using Identity = std::pair<const void*, DataType>;
  Identity identity_of(const Value& value) const {
    if (value.source != nullptr) return {value.source.get(), value.type.data_type};
    const auto found = by_bytes_.find(bytes_of(value));
    return {found == by_bytes_.end() ? &value : found->second, value.type.data_type};
  }

  static std::string_view bytes_of(const Value& value) {
    return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
  }

  void stream(const Weight& weight, BlobWriter& writer, uint64_t done) {
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
        // Through memory that stays in the cache: the system copies from it faster than from pages
        // that are not mapped yet.
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
      // Chunk by chunk: a single embedding may be larger than the memory that a machine can spare.
      source->release();
      if (options_.progress) options_.progress(done + offset, total_);
    }
  }

  static constexpr size_t kPiece = size_t{1} << 18;

  const WriteOptions& options_;
  std::vector<File> files_;
  std::map<Identity, BlobReference> references_;
  std::unordered_map<std::string_view, const Value*> by_bytes_;  // of constants without a source
  std::vector<std::byte> buffer_;
  uint64_t total_ = 0;
};

void write_whole(const fs::path& path, std::string_view content) {
  FileWriter writer(path);
  writer.write(content);
  writer.close();
}

void add_item(Manifest& manifest, std::string path, std::string name, std::string author,
              std::string description) {
  std::string identifier = manifest_identifier(path);
  manifest.items.push_back({std::move(identifier), std::move(path), std::move(name),
                            std::move(author), std::move(description)});
}

void write_extra_files(const std::vector<ExtraFile>& files, const fs::path& data,
                       Manifest& manifest) {
  constexpr std::string_view kWhat = "an extra file";
  for (const ExtraFile& file : files) {
    check_file_name(file.item, kWhat);
    for (const fs::path& part : fs::path(file.name)) check_file_name(part.string(), kWhat);
    if (file.item == kModelItem) {
      fail(ErrorCode::InvalidArgument, "extra files cannot lie in {}", kModelItem);
    }
    const fs::path path = file.name.empty() ? data / file.item : data / file.item / file.name;
    fs::create_directories(path.parent_path());
    write_whole(path, file.content);
    const bool listed = std::any_of(manifest.items.begin(), manifest.items.end(),
                                    [&](const auto& item) { return item.path == file.item; });
    if (!listed) add_item(manifest, file.item, file.item, "pippin", "Files beside the model");
  }
}

void check_model(const Model& model) {
  for (size_t i = 0; i < model.stages.size(); ++i) {
    with_context(stage_name(model, i), [&] { check_model(model.stages[i].model); });
  }
  if (model.is_pipeline() || model.is_translated()) return;
  for (const auto& [name, function] : model.program.functions) {
    const int needed = specification_version(function->opset_version());
    if (model.specification_version < needed) {
      fail(ErrorCode::InvalidArgument,
           "function '{}' of opset {} needs specification version {}, the model says {}", name,
           function->opset, needed, model.specification_version);
    }
  }
  verify(model.program);
}

void write_files(const Model& model, const fs::path& root, const WriteOptions& options) {
  const fs::path data = root / "Data";
  const fs::path folder = data / kModelItem;
  fs::create_directories(folder);
  WeightWriter weights(model, options);
  weights.write(folder / "weights");
  check_cancel();
  write_whole(folder / "model.mlmodel",
              serialize_model(model, [&](const Value& value) { return weights.find(value); }));
  Manifest manifest;
  add_item(manifest, "com.apple.CoreML/model.mlmodel", "model.mlmodel", std::string(kModelItem),
           "CoreML Model Specification");
  manifest.root = manifest.items.front().identifier;
  if (fs::exists(folder / "weights")) {
    add_item(manifest, "com.apple.CoreML/weights", "weights", std::string(kModelItem),
             "CoreML Model Weights");
  }
  write_extra_files(options.extra_files, data, manifest);
  write_whole(root / "Manifest.json", print_manifest(manifest));
}

}  // namespace

uint64_t weight_file_bytes(const Model& model) {
  const WriteOptions none;
  return WeightWriter(model, none).total();
}

void write_package(const Model& model, const fs::path& path, const WriteOptions& options) {
  const fs::path target = path.has_filename() ? path : path.parent_path();
  if (target.extension() != ".mlpackage") {
    fail(ErrorCode::InvalidArgument, "{}: a package's name must end in .mlpackage", path.string());
  }
  check_model(model);
  PendingOutput output(target);
  try {
    write_files(model, output.path(), options);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::Io, "{}", error.what());
  }
  output.commit();
}

}  // namespace pippin::mil
