#include "pippin/nn/experts/mlp_with_experts.h"

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;

class MlpWithExperts final : public FeedForward {
 public:
  MlpWithExperts(const Parameters& parameters, const MlpWithExpertsOptions& options)
      : mlp_norm_(norm(parameters, options, options.mlp_norm)),
        mlp_post_norm_(norm(parameters, options, options.mlp_post_norm)),
        experts_post_norm_(norm(parameters, options, options.experts_post_norm)),
        mlp_(options.mlp.make(parameters.at(options.mlp_path))),
        experts_(options.experts.make(parameters)) {}

  Array operator()(const Array& x, LayerCarry& carry) const override {
    const Array dense = mlp_post_norm_((*mlp_)(mlp_norm_(x), carry));
    return dense + experts_post_norm_((*experts_)(x, carry));
  }

 private:
  static Norm norm(const Parameters& parameters, const MlpWithExpertsOptions& options,
                   const NamedNorm& named) {
    return Norm(parameters.at(named.name), options.mlp.features, named.norm);
  }

  Norm mlp_norm_, mlp_post_norm_, experts_post_norm_;
  std::unique_ptr<const FeedForward> mlp_, experts_;
};

}  // namespace

std::unique_ptr<const FeedForward> MlpWithExpertsOptions::make(const Parameters& parameters) const {
  return std::make_unique<MlpWithExperts>(parameters, *this);
}

}  // namespace pippin::nn
