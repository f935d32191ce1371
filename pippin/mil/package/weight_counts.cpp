#include "pippin/mil/package/weight_counts.h"

#include <utility>

#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

// Constants below this size are parameters, not weights.
constexpr int64_t kMinWeightElements = 10;

// Counts every weight once, however many constants share it.
class WeightCollector {
 public:
  void collect(const Model& model) {
    for_each_constant(model.program,
                      [&](const Value& value, const ConstantPlace&) { count(value); });
    // In text without weights, the same path and offset in another stage means another file.
    blobs_.clear();
    for (const PipelineStage& stage : model.stages) collect(stage.model);
  }

  WeightCounts weights;

 private:
  void count(const Value& value) {
    if (!value.type.is_static() || value.type.data_type == DataType::String) return;
    const int64_t elements = value.type.num_elements();
    if (elements < kMinWeightElements) return;
    if (value.source != nullptr && !sources_.insert(value.source.get()).second) return;
    const bool named = value.source == nullptr && value.blob;
    if (named && !blobs_.emplace(value.blob->path, value.blob->offset).second) return;
    WeightGroup& group = weights.groups[value.type.data_type];
    const uint64_t bytes = packed_size(value.type.data_type, elements);
    ++group.tensors;
    group.elements += elements;
    group.bytes += bytes;
    weights.bytes += bytes;
    if (value.blob && value.source != nullptr && value.source->view().empty()) {
      weights.absent_files.insert(value.blob->path);
    }
  }

  std::set<const TensorSource*> sources_;
  std::set<std::pair<std::string, uint64_t>> blobs_;
};

}  // namespace

WeightCounts count_weights(const Model& model) {
  WeightCollector collector;
  collector.collect(model);
  return std::move(collector.weights);
}

}  // namespace pippin::mil
