#include "pippin/doctor/stored_weights.h"

#include <set>
#include <utility>

#include "pippin/mil/walk.h"

namespace pippin::doctor {

std::vector<StoredWeight> stored_weights(const mil::Model& model) {
  std::vector<StoredWeight> weights;
  std::set<std::pair<std::string, uint64_t>> blobs;
  std::set<const mil::TensorSource*> sources;
  mil::for_each_constant(
      model.program, [&](const mil::Value& value, const mil::ConstantPlace& place) {
        const bool stored = value.source != nullptr || value.blob;
        if (!stored || !value.type.is_tensor() || !value.type.is_static()) return;
        if (value.type.data_type == mil::DataType::String) return;
        const bool is_new = value.blob ? blobs.emplace(value.blob->path, value.blob->offset).second
                                       : sources.insert(value.source.get()).second;
        if (!is_new) return;
        const uint64_t bytes = mil::packed_size(value.type.data_type, value.type.num_elements());
        weights.push_back({&value, mil::to_string(place), bytes});
      });
  return weights;
}

uint64_t total_bytes(const std::vector<StoredWeight>& weights) {
  uint64_t total = 0;
  for (const StoredWeight& weight : weights) total += weight.bytes;
  return total;
}

}  // namespace pippin::doctor
