// Weights that a package stores more than once.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/doctor/duplicates.h"
#include "pippin/doctor/rules.h"
#include "pippin/mil/walk.h"

namespace pippin::doctor {
namespace {

constexpr uint64_t kLeastBytes = 8192;
constexpr uint64_t kSample = 64, kSamples = 8;
constexpr uint64_t kPiece = uint64_t{1} << 20;
constexpr size_t kMostAlike = 4;        // different weights with equal samples, per weight
constexpr int kWeightsPerRelease = 16;  // systems map pages around each read

constexpr Rule kDuplicates = {.id = "duplicate-weights",
                              .severity = Severity::Warning,
                              .what = "The same weights are stored several times",
                              .why = "Every copy is loaded, compiled and kept in memory for itself",
                              .source = "coremltools, const_deduplication; docs/format.md",
                              .remedy = "--fix stores each once",
                              .fixable = true};

using Samples = std::array<std::byte, kSample * kSamples>;

Samples samples_of(const StoredWeight& weight) {
  Samples samples{};
  const mil::TensorSource& source = *weight.value->source;
  for (uint64_t i = 0; i < kSamples; ++i) {
    const uint64_t offset = (weight.bytes - kSample) / (kSamples - 1) * i;
    source.read(offset, MutableByteSpan(samples.data() + i * kSample, kSample));
  }
  source.release();
  return samples;
}

bool equal_bytes(const StoredWeight& a, const StoredWeight& b) {
  std::vector<std::byte> left(kPiece), right(kPiece);
  for (uint64_t offset = 0; offset < a.bytes; offset += kPiece) {
    const uint64_t size = std::min(kPiece, a.bytes - offset);
    a.value->source->read(offset, MutableByteSpan(left.data(), size));
    b.value->source->read(offset, MutableByteSpan(right.data(), size));
    if (std::memcmp(left.data(), right.data(), size) != 0) return false;
    a.value->source->release();
    b.value->source->release();
  }
  return true;
}

void check_weights(const Subject& subject, Findings& findings) {
  for (const Duplicate& duplicate : duplicate_weights(subject.model)) {
    findings.add(kDuplicates, {{},
                               duplicate.copy.name,
                               fmt::format("{}, as {}", format_bytes(duplicate.copy.bytes),
                                           duplicate.first.name)});
  }
}

}  // namespace

std::vector<Duplicate> duplicate_weights(const mil::Model& model) {
  std::vector<Duplicate> found;
  std::map<std::tuple<mil::DataType, uint64_t>, std::vector<StoredWeight>> by_size;
  for (StoredWeight& weight : stored_weights(model)) {
    if (weight.value->source == nullptr || weight.bytes < kLeastBytes) continue;
    by_size[{weight.value->type.data_type, weight.bytes}].push_back(std::move(weight));
  }
  int sampled = 0;
  for (const auto& [size, same] : by_size) {
    if (same.size() < 2) continue;
    std::map<Samples, std::vector<const StoredWeight*>> distinct;
    for (const StoredWeight& weight : same) {
      if (++sampled % kWeightsPerRelease == 0) mil::release_weights(model.program);
      try {
        auto& alike = distinct[samples_of(weight)];
        const auto first = std::find_if(alike.begin(), alike.end(), [&](const StoredWeight* other) {
          return equal_bytes(*other, weight);
        });
        if (first == alike.end()) {
          if (alike.size() < kMostAlike) alike.push_back(&weight);
        } else {
          found.push_back({weight, **first});
        }
      } catch (const Error& error) {
        log_debug("{}: {}", weight.name, error.what());  // its file is absent
      }
    }
  }
  mil::release_weights(model.program);
  return found;
}

const Group& weight_rules() {
  static const Group group = {{&kDuplicates}, check_weights};
  return group;
}

}  // namespace pippin::doctor
