#include "pippin/app/convert/mixed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::app {
namespace {

constexpr std::array<int, 5> kWidths = {2, 3, 4, 6, 8};
constexpr size_t kMeasured = 1;  // index into kWidths
constexpr size_t kWindow = 512;  // tokens read as one sequence

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

compress::Scheme palette(int bits, int64_t group) {
  compress::Scheme scheme;
  scheme.kind = compress::Scheme::Kind::Palette;
  scheme.bits = bits;
  scheme.group = group;
  return scheme;
}

// Weights that the group size does not divide have one palette for all channels.
compress::Recipe with_width(const compress::Recipe& recipe, int bits, int64_t group,
                            const std::vector<std::string>& ungrouped) {
  compress::Recipe result;
  result.scheme = palette(bits, group);
  result.only = recipe.only;
  result.except = recipe.except;
  result.min_elements = recipe.min_elements;
  for (const std::string& name : ungrouped) result.tensors.emplace_back(name, palette(bits, 0));
  return result;
}

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
  size_t vocabulary = 0;
  const std::vector<float> source =
      logits_of(mil::read_package(package), ids, options.threads, vocabulary);
  // Lists all weights, and those that the group size does not divide.
  std::vector<std::string> ungrouped;
  {
    mil::Model model = mil::read_package(package);
    const auto probe =
        compress::compress(model, with_width(recipe, 4, options.group, {}), options.threads);
    for (const auto& kept : probe.kept) ungrouped.push_back(kept.name);
  }
  std::vector<std::string> names;
  std::vector<std::vector<MixedChoice>> choices;
  std::vector<int64_t> groups;
  int64_t elements = 0;
  for (const int bits : kWidths) {
    mil::Model model = mil::read_package(package);
    const auto result = compress::compress(
        model, with_width(recipe, bits, options.group, ungrouped), options.threads);
    const bool first = names.empty();
    for (size_t w = 0; w < result.compressed.size(); ++w) {
      check_cancel();
      const auto& weight = result.compressed[w];
      if (first) {
        names.push_back(weight.name);
        groups.push_back(weight.scheme.group);
        choices.emplace_back();
        elements += weight.elements;
      }
      choices.at(w).push_back({weight.bytes_after, weight.job->compute_measure().squared_error});
    }
  }
  for (size_t w = 0; w < names.size(); ++w) {
    if (options.progress) options.progress(w, names.size());
    compress::Recipe alone = with_width(recipe, kWidths[kMeasured], groups[w], {});
    alone.only = {names[w]};
    alone.except.clear();
    mil::Model model = mil::read_package(package);
    compress::compress(model, alone, options.threads);
    const std::vector<float> logits = logits_of(std::move(model), ids, options.threads, vocabulary);
    const double lost = divergence(source, logits, vocabulary);
    const double error = std::max(choices[w][kMeasured].cost, 1e-300);
    for (MixedChoice& choice : choices[w]) choice.cost *= lost / error;
  }
  uint64_t least = 0;
  for (const auto& forms : choices) least += forms[0].bytes;
  const auto budget = static_cast<uint64_t>(options.bits * static_cast<double>(elements) / 8);
  if (least > budget) {
    fail(ErrorCode::InvalidArgument,
         "--mixed {:g}: palettes of {} bits take {:.2f} bits per weight already", options.bits,
         kWidths[0], static_cast<double>(least) * 8 / static_cast<double>(elements));
  }
  compress::Recipe result;
  result.min_elements = recipe.min_elements;
  const auto chosen = spend_bytes(choices, budget);
  for (size_t w = 0; w < names.size(); ++w) {
    result.tensors.emplace_back(names[w], palette(kWidths[chosen[w]], groups[w]));
  }
  return result;
}

}  // namespace pippin::app
