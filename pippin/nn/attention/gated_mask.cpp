#include "pippin/nn/attention/gated_mask.h"

#include "pippin/array/ops.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

// The numbers that a token computes for each of the two gates; their sum counts.
constexpr int64_t kSummed = 4;

class GatedMask final : public ScoreBias {
 public:
  GatedMask(const Parameters& parameters, const GatedMaskOptions& options)
      : path_(parameters.at("gru_rel_pos").path()),
        options_(options),
        gates_(parameters.at("gru_rel_pos_linear"), options.head_dim, 2 * kSummed, /*bias=*/true),
        constant_(parameters.get("gru_rel_pos_const", {1, options.num_heads, 1, 1})) {}

  Array operator()(const Array& x, const Array& /*values*/,
                   const MixerInput& input) const override {
    const array::Scope scope(path_);
    const int64_t heads = options_.num_heads;
    const mil::Dim& length = x.dim(1);
    // A linear layer takes three axes at most in Core ML: heads are rows.
    const Array rows = array::reshape(x, {1, length * mil::Dim(heads), options_.head_dim});
    const Array parts = array::reshape(gates_(rows), {1, length, 2 * heads, kSummed});
    const Array sums = array::reshape(array::reduce_sum(parts, {3}), {1, length, heads, 2});
    const Array open = array::sigmoid(array::transpose(sums, {0, 2, 1, 3}));
    const Array first = array::slice_axis(open, 3, 0, 1), second = array::slice_axis(open, 3, 1, 2);
    const Array gate = first * (second * constant_ + -1.0) + 2.0;
    return *input.mask * gate;
  }

 private:
  std::string path_;
  GatedMaskOptions options_;
  Linear gates_;
  Array constant_;
};

}  // namespace

std::unique_ptr<const ScoreBias> GatedMaskOptions::make(const Parameters& parameters) const {
  return std::make_unique<GatedMask>(parameters, *this);
}

}  // namespace pippin::nn
