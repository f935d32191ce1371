#include "pippin/app/convert/mixed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pippin/app/convert/mixed_forms.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::app {
namespace {

constexpr int kSizeTurns = 12;       // packages whose size is computed, at most
constexpr double kMeasuredBits = 3;  // at least, of the form that is measured alone
constexpr size_t kWindow = 512;      // tokens read as one sequence

std::vector<float> logits_of(mil::Model model, const std::vector<int32_t>& ids, int threads,
                             size_t& vocabulary) {
  runtime::RunnableModel runnable = runtime::make_runnable(std::move(model), {0, threads});
  const runtime::Model& language_model = *runnable.model;
  const auto sequence = runnable.model->new_sequence();
  vocabulary = static_cast<size_t>(language_model.vocab_size());
  const size_t window = std::min(kWindow, static_cast<size_t>(language_model.context()));
  std::vector<float> result;
  for (size_t start = 0; start < ids.size(); start += window) {
    sequence->reset();
    const auto part =
        sequence->all_logits(std::span(ids).subspan(start, std::min(window, ids.size() - start)));
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

double log_sum_exp(std::span<const float> row) {
  const auto largest = double{*std::max_element(row.begin(), row.end())};
  double sum = 0;
  for (const float value : row) sum += std::exp(double{value} - largest);
  return largest + std::log(sum);
}

// KL(source || model), averaged over the rows.
double divergence(std::span<const float> source, std::span<const float> model, size_t vocabulary) {
  double total = 0;
  for (size_t row = 0; row < source.size(); row += vocabulary) {
    const auto p = source.subspan(row, vocabulary), q = model.subspan(row, vocabulary);
    const double p_norm = log_sum_exp(p), q_norm = log_sum_exp(q);
    for (size_t i = 0; i < vocabulary; ++i) {
      const double log_p = double{p[i]} - p_norm;
      total += std::exp(log_p) * (log_p - double{q[i]} + q_norm);
    }
  }
  const size_t rows = source.size() / vocabulary;
  return std::max(0.0, total / static_cast<double>(rows));
}

using NamedSchemes = std::vector<std::pair<std::string, compress::Scheme>>;

// A weight, its forms, and the size and cost of each.
struct MixedWeight {
  std::string name;
  int64_t elements = 0;
  std::vector<compress::Scheme> forms;
  std::vector<MixedChoice> choices;
};

compress::Recipe with_schemes(const compress::Recipe& recipe, NamedSchemes schemes) {
  compress::Recipe result;
  result.min_elements = recipe.min_elements;
  result.rounds = recipe.rounds;
  result.recompress = recipe.recompress;
  result.tensors = std::move(schemes);
  return result;
}

class Mixer {
 public:
  Mixer(const std::filesystem::path& package, const compress::Recipe& recipe,
        const MixedOptions& options)
      : package_(package), recipe_(recipe), options_(options) {
    list_weights();
  }

  // Sets the costs of all forms, up to a factor for each weight: their errors.
  void measure_errors() {
    size_t most = 0;
    for (const MixedWeight& weight : weights_) most = std::max(most, weight.forms.size());
    using Results = std::map<std::string, compress::CompressedWeight>;
    std::vector<Results> results(most);
    for (size_t form = 0; form < most; ++form) {
      for (auto& one : compressed_with(form)) results[form].emplace(one.name, std::move(one));
    }
    // Weight by weight: the inputs of one are needed for all of its forms.
    for (MixedWeight& weight : weights_) {
      for (size_t form = 0; form < weight.forms.size(); ++form) {
        check_cancel();
        auto& one = results[form].at(weight.name);
        const compress::Measure measure = one.job->compute_measure();
        weight.choices.push_back(
            {one.bytes_after, measure.calibrated ? measure.output_error : measure.squared_error});
        one.job.reset();
      }
    }
  }

  // Multiplies the costs by the divergence that an error of 1 causes in the next-token
  // distributions.
  void measure_effects(const std::vector<int32_t>& ids) {
    size_t vocabulary = 0;
    const std::vector<float> source =
        logits_of(mil::read_package(package_), ids, options_.threads, vocabulary);
    for (size_t w = 0; w < weights_.size(); ++w) {
      if (options_.progress) options_.progress(w, weights_.size());
      MixedWeight& weight = weights_[w];
      const size_t form = measured_form(weight);
      mil::Model model = mil::read_package(package_);
      compress::compress(model, with_schemes(recipe_, {{weight.name, weight.forms[form]}}),
                         options_.threads, options_.statistics);
      const std::vector<float> logits =
          logits_of(std::move(model), ids, options_.threads, vocabulary);
      const double lost = divergence(source, logits, vocabulary);
      const double error = std::max(weight.choices[form].cost, 1e-300);
      for (MixedChoice& choice : weight.choices) choice.cost *= lost / error;
    }
  }

  compress::Recipe choose() const {
    return options_.target_size > 0 ? choose_for_size() : choose_for_bits();
  }

 private:
  void list_weights() {
    compress::Recipe probe = with_schemes(recipe_, {});
    probe.only = recipe_.only;
    probe.except = recipe_.except;
    probe.exempt = recipe_.exempt;
    probe.scheme = compress::parse_scheme("lut2");  // of any sizes
    mil::Model model = mil::read_package(package_);
    const auto found = compress::compress(model, probe, options_.threads).compressed;
    weights_.reserve(found.size());
    for (const auto& one : found) {
      const auto value_bits =
          static_cast<int>(static_cast<int64_t>(one.bytes_before) * 8 / one.elements);
      weights_.push_back(
          {one.name, one.elements, mixed_forms(one.channels, one.inputs, value_bits), {}});
    }
  }

  // All weights that have as many forms, in this one.
  std::vector<compress::CompressedWeight> compressed_with(size_t form) const {
    NamedSchemes schemes;
    for (const MixedWeight& weight : weights_) {
      if (form < weight.forms.size()) schemes.emplace_back(weight.name, weight.forms[form]);
    }
    mil::Model model = mil::read_package(package_);
    return compress::compress(model, with_schemes(recipe_, std::move(schemes)), options_.threads,
                              options_.statistics)
        .compressed;
  }

  compress::Recipe choose_for_bits() const {
    int64_t elements = 0;
    for (const MixedWeight& weight : weights_) elements += weight.elements;
    const auto budget = static_cast<uint64_t>(options_.bits * static_cast<double>(elements) / 8);
    const uint64_t least = least_bytes();
    if (least > budget) {
      fail(ErrorCode::InvalidArgument,
           "--mixed {:g}: the smallest forms take {:.2f} bits per weight", options_.bits,
           static_cast<double>(least) * 8 / static_cast<double>(elements));
    }
    return recipe_within(budget);
  }

  // The size of the rest depends a little on the forms: looks for the largest budget of weights
  // that fits.
  compress::Recipe choose_for_size() const {
    const uint64_t target = options_.target_size, least = least_bytes();
    compress::Recipe best = recipe_within(least);
    uint64_t size = options_.package_bytes(best);
    if (size > target) {
      fail(ErrorCode::InvalidArgument,
           "--target-size {}: the output takes {} bytes with the smallest forms", target, size);
    }
    uint64_t fits = least, budget = least + (target - size), too_much = UINT64_MAX;
    for (int turn = 0; turn < kSizeTurns && budget > fits && budget < too_much; ++turn) {
      compress::Recipe recipe = recipe_within(budget);
      size = options_.package_bytes(recipe);
      if (size <= target) {
        fits = budget;
        best = std::move(recipe);
        budget += target - size;
      } else {
        too_much = budget;
        budget -= std::min(budget, size - target);
      }
    }
    return best;
  }

  compress::Recipe recipe_within(uint64_t budget) const {
    std::vector<std::vector<MixedChoice>> choices;
    choices.reserve(weights_.size());
    for (const MixedWeight& weight : weights_) choices.push_back(weight.choices);
    const auto chosen = spend_bytes(choices, budget);
    NamedSchemes schemes;
    schemes.reserve(weights_.size());
    for (size_t w = 0; w < weights_.size(); ++w) {
      schemes.emplace_back(weights_[w].name, weights_[w].forms[chosen[w]]);
    }
    return with_schemes(recipe_, std::move(schemes));
  }

  uint64_t least_bytes() const {
    uint64_t least = 0;
    for (const MixedWeight& weight : weights_) least += smallest(weight.choices);
    return least;
  }

  static uint64_t smallest(const std::vector<MixedChoice>& choices) {
    const auto by_bytes = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
    return std::min_element(choices.begin(), choices.end(), by_bytes)->bytes;
  }

  static size_t measured_form(const MixedWeight& weight) {
    const double bytes = kMeasuredBits * static_cast<double>(weight.elements) / 8;
    size_t form = 0;
    while (form + 1 < weight.forms.size() &&
           static_cast<double>(weight.choices[form].bytes) < bytes) {
      ++form;
    }
    return form;
  }

  const std::filesystem::path& package_;
  const compress::Recipe& recipe_;
  const MixedOptions& options_;
  std::vector<MixedWeight> weights_;
};

}  // namespace

std::vector<size_t> spend_bytes(const std::vector<std::vector<MixedChoice>>& weights,
                                uint64_t budget) {
  std::vector<size_t> chosen;
  uint64_t spent = 0;
  for (const auto& choices : weights) {
    const auto least =
        std::min_element(choices.begin(), choices.end(),
                         [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    chosen.push_back(static_cast<size_t>(least - choices.begin()));
    spent += least->bytes;
  }
  while (true) {
    double best = 0;
    size_t weight = 0, form = 0;
    for (size_t w = 0; w < weights.size(); ++w) {
      const MixedChoice& now = weights[w][chosen[w]];
      for (size_t f = 0; f < weights[w].size(); ++f) {
        const MixedChoice& other = weights[w][f];
        if (other.bytes <= now.bytes || spent - now.bytes + other.bytes > budget) continue;
        const double saved = (now.cost - other.cost) / static_cast<double>(other.bytes - now.bytes);
        if (saved <= best) continue;
        best = saved;
        weight = w;
        form = f;
      }
    }
    if (best <= 0) return chosen;
    spent += weights[weight][form].bytes - weights[weight][chosen[weight]].bytes;
    chosen[weight] = form;
  }
}

compress::Recipe mixed_recipe(const std::filesystem::path& package, const compress::Recipe& recipe,
                              const std::vector<int32_t>& ids, const MixedOptions& options) {
  Mixer mixer(package, recipe, options);
  mixer.measure_errors();
  mixer.measure_effects(ids);
  return mixer.choose();
}

}  // namespace pippin::app
