#include "pippin/nn/expert_attention.h"

#include <numeric>
#include <string>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

using array::Array;

int64_t width_of(const ExpertAttentionOptions& options) {
  return options.kv_heads * options.head_dim;
}

// Keys or values of kv_proj, which has both.
Linear half_of(const Parameters& parameters, const ExpertAttentionOptions& options, bool values) {
  const int64_t width = width_of(options);
  WeightLayout layout;
  layout.stored_rows = 2 * width;
  layout.part = values ? "v" : "k";
  layout.rows.resize(static_cast<size_t>(width));
  std::iota(layout.rows.begin(), layout.rows.end(), values ? width : 0);
  const Parameters both = parameters.at("kv_proj");
  both.check("weight", {2 * width, options.features});
  return Linear(both, options.features, width, false, layout);
}

class ExpertAttention final : public Mixer {
 public:
  ExpertAttention(const Parameters& parameters, const ExpertAttentionOptions& options)
      : path_(parameters.path()),
        options_(options),
        router_(parameters.at("experts"), options.router),
        into_(parameters.at("experts.input_linear")
                  .get("weight", {count(), width_of(options), options.features})),
        out_of_(parameters.at("experts.output_linear")
                    .get("weight", {count(), options.features, width_of(options)})),
        bias_(parameters.at("experts").get("bias", {options.features})),
        keys_(half_of(parameters, options, false)),
        values_(half_of(parameters, options, true)) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': experts have no form for this package family", path_);
    }
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Route route = router_(x, input.carry);
    const bool single = x.dim(1) == mil::Dim(1);
    Array queries = heads_of(single ? gathered_queries(x, route) : all_queries(x, route), chosen());
    Array own = heads_of(keys_(x), 1);
    if (input.rotation != nullptr) {
      queries = rotate(queries, *input.rotation);
      own = rotate(own, *input.rotation);
    }
    const auto [keys, values] =
        input.cache.update(input.layer, own, heads_of(values_(x), 1), input.pass);
    const Array attended = array::scaled_dot_product_attention(queries, for_experts(keys),
                                                               for_experts(values), *input.mask);
    const Array rows = array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                                      {x.dim(1), chosen(), width_of(options_)});
    const Array weighted = rows * array::transpose(route.weights, {1, 2, 0});
    return (single ? gathered_sum(weighted, route) : sum_of_all(weighted, route)) + bias_;
  }

 private:
  int64_t count() const { return options_.router.num_experts; }
  int64_t chosen() const { return options_.router.top_k; }

  // (1, experts * kv_heads, q, head_dim), those of one expert side by side.
  Array heads_of(const Array& x, int64_t experts) const {
    const int64_t heads = experts * options_.kv_heads;
    return array::transpose(array::reshape(x, {1, x.dim(1), heads, options_.head_dim}),
                            {0, 2, 1, 3});
  }

  Array for_experts(const Array& x) const { return array::tile(x, {1, chosen(), 1, 1}); }

  Array indices(const Route& route) const { return array::reshape(route.indices, {chosen()}); }

  // (q, top_k, experts): a one for each chosen expert.
  Array places(const Route& route, mil::DataType type) const {
    return array::squeeze(places_of(route.indices, count(), type), {0});
  }

  // (1, q, top_k * width) of all experts' products.
  Array all_queries(const Array& x, const Route& route) const {
    const Array all = array::matmul(x, into_, false, /*transpose_y=*/true);
    const Array taken = array::matmul(places(route, x.type()), array::transpose(all, {1, 0, 2}));
    return array::reshape(taken, {1, x.dim(1), chosen() * width_of(options_)});
  }

  Array gathered_queries(const Array& x, const Route& route) const {
    const Array matrices = array::gather(into_, indices(route));
    const Array products = array::matmul(x, matrices, false, /*transpose_y=*/true);
    return array::reshape(products, {1, 1, chosen() * width_of(options_)});
  }

  // Returns (1, q, features) for rows (q, top_k, width).
  Array sum_of_all(const Array& rows, const Route& route) const {
    const Array placed = array::matmul(places(route, rows.type()), rows, /*transpose_x=*/true);
    const Array products =
        array::matmul(array::transpose(placed, {1, 0, 2}), out_of_, false, /*transpose_y=*/true);
    return array::reduce_sum(products, {0}, /*keep_dims=*/true);
  }

  Array gathered_sum(const Array& rows, const Route& route) const {
    const Array matrices = array::gather(out_of_, indices(route));
    const Array products = array::matmul(array::transpose(rows, {1, 0, 2}), matrices, false,
                                         /*transpose_y=*/true);
    return array::reduce_sum(products, {0}, /*keep_dims=*/true);
  }

  std::string path_;
  ExpertAttentionOptions options_;
  Router router_;
  Array into_, out_of_, bias_;
  Linear keys_, values_;
};

}  // namespace

MixerNeeds ExpertAttentionOptions::needs() const {
  MixerNeeds needs;
  needs.name = "attention of experts";
  needs.kv_heads = kv_heads;
  needs.head_dim = head_dim;
  needs.rope = rope;
  return needs;
}

std::unique_ptr<const Mixer> ExpertAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<ExpertAttention>(parameters, *this);
}

}  // namespace pippin::nn
