#include "pippin/nn/attention/relative_scores.h"

#include <string>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

class RelativeScores final : public ScoreBias {
 public:
  RelativeScores(const Parameters& parameters, const RelativeScoresOptions& options)
      : path_(parameters.at("rel_logits_proj").path()),
        options_(options),
        tokens_(parameters.at("r_proj"), options.features, options.num_heads * options.profiles),
        bank_(parameters.at("rel_logits_proj").get("proj", {options.profiles, options.extent})) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': scores of distances have no form for this package family",
           path_);
    }
  }

  Array operator()(const Array& x, const Array& /*values*/,
                   const MixerInput& input) const override {
    const array::Scope scope(path_);
    const int64_t heads = options_.num_heads;
    const Array split = array::reshape(tokens_(x), {1, x.dim(1), heads, options_.profiles});
    Array by_distance = array::matmul(array::transpose(split, {0, 2, 1, 3}), bank_);
    if (options_.temperature) {
      by_distance = by_distance * options_.temperature->factors(input.pass, x.type());
    }
    const Array distance = key_distances(input.pass);
    const Array first = array::constant(0);
    const Array last = array::constant(static_cast<int32_t>(options_.extent - 1));
    const Array near = array::minimum(array::maximum(distance, first), last);
    const Array repetitions =
        array::Builder::current().dims_array({1, mil::Dim(heads), mil::Dim(1), mil::Dim(1)});
    const Array places = array::record_one("tile", {{"x", near}, {"reps", repetitions}});
    const Array scores = array::record_one("gather_along_axis",
                                           {{"x", by_distance}, {"indices", places}, {"axis", 3}});
    const Array within =
        array::select(array::equal(near, distance), scores, array::constant(x.type(), 0.0));
    return within + *input.mask;
  }

 private:
  std::string path_;
  RelativeScoresOptions options_;
  Linear tokens_;
  Array bank_;
};

}  // namespace

std::unique_ptr<const ScoreBias> RelativeScoresOptions::make(const Parameters& parameters) const {
  return std::make_unique<RelativeScores>(parameters, *this);
}

}  // namespace pippin::nn
