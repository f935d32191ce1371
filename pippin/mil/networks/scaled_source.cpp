#include "pippin/mil/networks/scaled_source.h"

#include <algorithm>

#include "pippin/mil/networks/element_source.h"

namespace pippin::mil::networks {
namespace {

class ScaledSource : public FloatSource {
 public:
  ScaledSource(std::shared_ptr<const TensorSource> source, std::vector<float> factors)
      : FloatSource(static_cast<int64_t>(source->size() / sizeof(float))),
        source_(std::move(source)),
        factors_(std::move(factors)),
        row_(static_cast<size_t>(count()) / factors_.size()) {}

  void floats(size_t first, std::span<float> out) const override {
    source_->read(first * sizeof(float), std::as_writable_bytes(out));
    while (!out.empty()) {
      const float factor = factors_[first / row_];
      const size_t taken = std::min(out.size(), row_ - first % row_);
      for (float& value : out.first(taken)) value *= factor;
      out = out.subspan(taken);
      first += taken;
    }
  }
  void release() const noexcept override { source_->release(); }
  bool describe(Recipe& recipe) const override {
    recipe.step("scaled").bytes(std::as_bytes(std::span(factors_)));
    return describe_source(*source_, recipe);
  }

 private:
  const std::shared_ptr<const TensorSource> source_;
  const std::vector<float> factors_;
  const size_t row_;  // elements
};

}  // namespace

std::shared_ptr<const TensorSource> scaled_source(std::shared_ptr<const TensorSource> source,
                                                  std::vector<float> factors) {
  return std::make_shared<ScaledSource>(std::move(source), std::move(factors));
}

}  // namespace pippin::mil::networks
