// Writes a model's weight files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pippin/io/blob_file.h"
#include "pippin/mil/model.h"

namespace pippin::mil {

class WeightWriter {
 public:
  using Progress = std::function<void(uint64_t done, uint64_t total)>;

  // The model must not change. `progress` is called every few megabytes.
  explicit WeightWriter(const Model& model, Progress progress = {});

  // Size of all weights in bytes.
  uint64_t total() const { return total_; }
  // Writes weight.bin into the folder, which is created; for a pipeline, 0-weight.bin, ... for each
  // program. Without weights, writes neither file nor folder. Memory use is bounded whatever the
  // size. Polls check_cancel().
  void write(const std::filesystem::path& folder);
  // Sets all locations as write() does, without writing. Returns the size of the files.
  uint64_t lay_out();
  // The location of a constant in the file, if it was written or laid out.
  std::optional<BlobReference> find(const Value& value) const;

 private:
  // A weight, stored once however many constants share it.
  struct Weight {
    const Value* value;
    uint64_t size;
  };
  struct File {
    std::string name;
    std::vector<Weight> weights;
  };
  // Constants with the same source are one weight, and so are constants with the same bytes:
  // functions recorded separately each have their own tables.
  using Identity = std::pair<const void*, DataType>;

  void collect_stages(const Model& pipeline);
  void collect(const Model& model, std::string file_name);
  Identity identity_of(const Value& value) const;
  void stream(const Weight& weight, BlobWriter& writer, uint64_t done);

  Progress progress_;
  std::vector<File> files_;
  std::map<Identity, BlobReference> references_;
  std::unordered_map<std::string_view, const Value*> by_bytes_;  // of constants without a source
  std::vector<std::byte> buffer_;
  uint64_t total_ = 0;
};

}  // namespace pippin::mil
