#include "pippin/cli/predict_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

constexpr int64_t kTableValues = 8;   // the table shows outputs of up to this many elements
constexpr int64_t kJsonValues = 100;  // ... and so does printed JSON

struct Summary {
  double min = 0, max = 0, mean = 0;
  int64_t not_finite = 0;
};

// Over the finite elements.
Summary summarize(const std::vector<double>& values) {
  Summary summary{HUGE_VAL, -HUGE_VAL, 0, 0};
  for (const double value : values) {
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    summary.mean += value;
  }
  summary.mean /= static_cast<double>(values.size()) - static_cast<double>(summary.not_finite);
  return summary;
}

// The statistics of the runs after the first, which makes the plans; of the first if it is the only
// one.
struct Times {
  explicit Times(std::vector<double> seconds) {
    if (seconds.size() > 1) seconds.erase(seconds.begin());
    std::sort(seconds.begin(), seconds.end());
    const size_t half = seconds.size() / 2;
    min = seconds.front();
    max = seconds.back();
    median = seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
    mean =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  }
  double min, max, median, mean;
};

std::string tensor_line(const Tensor& tensor) {
  const std::string type = fmt::format("{} {}", to_string(tensor.type()), tensor.shape());
  if (tensor.type() == DataType::String) {
    return tensor.size() <= kTableValues ? fmt::format("{}  {}", type, tensor.strings()) : type;
  }
  const std::vector<double> values = tensor.to_doubles();
  if (tensor.size() <= kTableValues) {
    return fmt::format("{}  [{:.6g}]", type, fmt::join(values, ", "));
  }
  const Summary summary = summarize(values);
  std::string line = fmt::format("{}  min {:.6g}  max {:.6g}  mean {:.6g}", type, summary.min,
                                 summary.max, summary.mean);
  if (summary.not_finite > 0) line += fmt::format("  not finite {}", summary.not_finite);
  return line;
}

std::vector<std::string> key_texts(const Tensor& keys) {
  if (keys.type() == DataType::String) return keys.strings();
  std::vector<std::string> texts;
  for (const int64_t key : keys.data<int64_t>()) texts.push_back(fmt::format("{}", key));
  return texts;
}

// The most probable classes first.
std::string dictionary_line(const Dictionary& dictionary) {
  const std::vector<std::string> keys = key_texts(dictionary.keys);
  const auto values = dictionary.values.data<double>();
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return values[a] > values[b] || (std::isnan(values[b]) && !std::isnan(values[a]));
  });
  std::string line = fmt::format("dictionary of {}", keys.size());
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    line += fmt::format("  {}: {:.6g}", keys[order[i]], values[order[i]]);
  }
  return line;
}

void write_tensor(JsonWriter& json, const Tensor& tensor, Elements elements) {
  const bool shown = elements == Elements::All || tensor.size() <= kJsonValues;
  json.member("dtype", to_string(tensor.type())).member("shape", tensor.shape());
  if (tensor.type() == DataType::String) {
    if (shown) json.member("values", tensor.strings());
    return;
  }
  const std::vector<double> values = tensor.to_doubles();
  const Summary summary = summarize(values);  // NaN and infinities become null
  json.member("min", summary.min).member("max", summary.max).member("mean", summary.mean);
  if (summary.not_finite > 0) json.member("not_finite", summary.not_finite);
  if (!shown) return;
  const bool fractions = tensor.type() == DataType::Float16 || tensor.type() == DataType::Float32 ||
                         tensor.type() == DataType::Float64;
  if (fractions) {
    json.member("values", values);
  } else {
    const Tensor exact = tensor.to(DataType::Int64);
    const auto numbers = exact.data<int64_t>();
    json.member("values", std::vector<int64_t>(numbers.begin(), numbers.end()));
  }
}

void write_dictionary(JsonWriter& json, const Dictionary& dictionary) {
  json.member("dtype", "dictionary").key("values").begin_object();
  const std::vector<std::string> keys = key_texts(dictionary.keys);
  const auto values = dictionary.values.data<double>();
  for (size_t i = 0; i < keys.size(); ++i) json.member(keys[i], values[i]);
  json.end_object();
}

}  // namespace

std::string output_table(const PredictReport& report) {
  size_t width = 0;
  for (const FeatureInfo& feature : report.output_features) {
    width = std::max(width, feature.name.size());
  }
  std::string table;
  for (const FeatureInfo& feature : report.output_features) {
    const Value& value = report.outputs.at(feature.name);
    const auto* tensor = std::get_if<Tensor>(&value);
    table += fmt::format(
        "{:{}}  {}\n", feature.name, width,
        tensor != nullptr ? tensor_line(*tensor) : dictionary_line(std::get<Dictionary>(value)));
  }
  return table;
}

std::string timing_lines(const PredictReport& report) {
  std::string lines = fmt::format("Load   : {:.3f} ms\nFirst  : {:.3f} ms\n",
                                  report.load_seconds * 1e3, report.run_seconds.front() * 1e3);
  if (report.run_seconds.size() == 1) return lines;
  const Times times(report.run_seconds);
  lines += fmt::format("Others : mean {:.3f}, median {:.3f}, min {:.3f}, max {:.3f} ms\n",
                       times.mean * 1e3, times.median * 1e3, times.min * 1e3, times.max * 1e3);
  lines += "Runs   :";
  for (const double seconds : report.run_seconds) lines += fmt::format(" {:.3f}", seconds * 1e3);
  return lines + " ms\n";
}

std::string report_json(const PredictReport& report, Elements elements) {
  JsonWriter json(2);
  json.begin_object()
      .member("model", report.model)
      .member("function", report.function)
      .member("precision", report.precision)
      .member("threads", report.threads);
  json.key("outputs").begin_array();
  for (const FeatureInfo& feature : report.output_features) {
    json.begin_object().member("name", feature.name);
    const Value& value = report.outputs.at(feature.name);
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      write_tensor(json, *tensor, elements);
    } else {
      write_dictionary(json, std::get<Dictionary>(value));
    }
    json.end_object();
  }
  json.end_array().key("states").begin_array();
  for (const FeatureInfo& state : report.states) {
    json.begin_object()
        .member("name", state.name)
        .member("dtype", to_string(state.type))
        .member("shape", state.shape)
        .end_object();
  }
  const Times times(report.run_seconds);
  json.end_array().key("timings").begin_object();
  json.member("load_seconds", report.load_seconds)
      .member("first_seconds", report.run_seconds.front())
      .member("mean_seconds", times.mean)
      .member("median_seconds", times.median)
      .member("min_seconds", times.min)
      .member("max_seconds", times.max)
      .member("run_seconds", report.run_seconds)
      .end_object()
      .end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
