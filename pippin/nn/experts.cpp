#include "pippin/nn/experts.h"

#include <optional>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

class Experts final : public FeedForward {
 public:
  Experts(const Parameters& parameters, const ExpertsOptions& options)
      : path_(parameters.path()),
        options_(options),
        router_(parameters.at(options.router), options.expert.features, options.num_experts) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': experts have no form for this package family", path_);
    }
    for (int64_t i = 0; i < options.num_experts; ++i) {
      experts_.push_back(options.expert.make(parameters.at(options.experts).at(i)));
    }
  }

  Array operator()(const Array& x) const override {
    const array::Scope scope(path_);
    const Array weights = route(x);
    std::optional<Array> sum;
    for (int64_t i = 0; i < options_.num_experts; ++i) {
      const Array own =
          (*experts_[static_cast<size_t>(i)])(x)*array::slice_axis(weights, 2, i, i + 1);
      sum = sum ? *sum + own : own;
    }
    return *sum;
  }

 private:
  // (1, q, num_experts), zero for experts that are not chosen.
  Array route(const Array& x) const {
    const array::TopK chosen = array::topk(array::softmax(router_(x)), options_.top_k);
    Array weights = chosen.values;
    if (options_.normalized) weights = weights / array::reduce_sum(weights, {-1}, true);
    const Array places = array::cast(
        array::record_one("one_hot",
                          {{"indices", chosen.indices},
                           {"one_hot_vector_size", static_cast<int32_t>(options_.num_experts)}}),
        weights.type());
    return array::reduce_sum(places * array::expand_dims(weights, {-1}), {2});
  }

  std::string path_;
  ExpertsOptions options_;
  Linear router_;
  std::vector<std::unique_ptr<const FeedForward>> experts_;
};

}  // namespace

std::unique_ptr<const FeedForward> ExpertsOptions::make(const Parameters& parameters) const {
  return std::make_unique<Experts>(parameters, *this);
}

}  // namespace pippin::nn
