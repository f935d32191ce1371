// The size of a package.
#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/doctor/rules.h"
#include "pippin/doctor/stored_weights.h"

namespace pippin::doctor {
namespace {

constexpr uint64_t kMostOnPhones = 1'000'000'000, kMostOnMacs = 2'000'000'000;
constexpr double kMostParameters = 1e9;

constexpr Rule kWeights = {
    .id = "weights-over-limit",
    .severity = Severity::Warning,
    .what = "A package has more weights than the Neural Engine's system takes in one piece",
    .why =
        "Packages of up to about 1 GB are loaded on iOS and iPadOS, of up to about 2 GB on "
        "macOS; larger ones fail to load there or run elsewhere",
    .source = "ANEMLL, chunk sizes (--max-chunk-mb ios: 950, macos: 2000)",
    .remedy =
        "Make chunks: convert --family anemll --max-chunk-mb, windowed --blocks-per-chunk; or "
        "compress"};

constexpr Rule kParameters = {
    .id = "parameters",
    .severity = Severity::Note,
    .what = "A package has more than a billion parameters",
    .why =
        "Models of 1.5 billion parameters in one package were seen to run on the CPU and GPU "
        "alone, those of 0.8 billion on the Neural Engine",
    .source = "developer.apple.com/forums/thread/727547",
    .remedy = "Make chunks"};

void check_sizes(const Subject& subject, Findings& findings) {
  const std::vector<StoredWeight> weights = stored_weights(subject.model);
  const uint64_t bytes = total_bytes(weights);
  const uint64_t limit = subject.is_phone() ? kMostOnPhones : kMostOnMacs;
  if (bytes > limit) {
    findings.add(kWeights, {{},
                            {},
                            fmt::format("{} of weights, the limit is {}", format_bytes(bytes),
                                        format_bytes(limit))});
  }
  double elements = 0;
  for (const StoredWeight& weight : weights) {
    elements += static_cast<double>(weight.value->type.num_elements());
  }
  if (elements > kMostParameters) {
    findings.add(kParameters, {{}, {}, fmt::format("{:.2f} billion", elements / 1e9)});
  }
}

}  // namespace

const Group& size_rules() {
  static const Group group = {{&kWeights, &kParameters}, check_sizes};
  return group;
}

}  // namespace pippin::doctor
