#include "pippin/runtime/coreml_llm/chunks.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/engine/parted_device.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::runtime {
namespace {

namespace coreml_llm = families::coreml_llm;

struct GivenName {
  std::string_view name;
  CoreMlLlmInput kind;
};
constexpr GivenName kGiven[] = {{coreml_llm::kHidden, CoreMlLlmInput::Hidden},
                                {coreml_llm::kLayerRow, CoreMlLlmInput::LayerRow},
                                {coreml_llm::kFullMask, CoreMlLlmInput::FullMask},
                                {coreml_llm::kSlidingMask, CoreMlLlmInput::SlidingMask},
                                {coreml_llm::kUpdateMask, CoreMlLlmInput::UpdateMask},
                                {coreml_llm::kBatchMask, CoreMlLlmInput::BatchMask},
                                {coreml_llm::kLastMask, CoreMlLlmInput::LastMask},
                                {coreml_llm::kCosSliding, CoreMlLlmInput::CosSliding},
                                {coreml_llm::kSinSliding, CoreMlLlmInput::SinSliding},
                                {coreml_llm::kCosFull, CoreMlLlmInput::CosFull},
                                {coreml_llm::kSinFull, CoreMlLlmInput::SinFull}};

const GivenName* find_given(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kGiven), std::end(kGiven),
                                         [&](const GivenName& one) { return one.name == name; });
  return found == std::end(kGiven) ? nullptr : found;
}

void check_floats(const FixedPart& part, std::string_view name, mil::DataType type) {
  if (mil::is_float(type)) return;
  fail(ErrorCode::InvalidFile, "{}: '{}' has elements of type {}; floats are expected", part.name(),
       name, mil::to_string(type));
}

// The elements of the arrays of a part that is ready.
int64_t input_elements(FixedPart& part, size_t port) {
  const mil::Feature& input = part.description().inputs[port];
  check_floats(part, input.name, input.data_type);
  return std::ssize(part.input(port));
}

int64_t output_elements(const FixedPart& part, size_t port) {
  const auto& output = part.description().outputs[port];
  check_floats(part, output.name, part.execution().plan().outputs()[port].declared);
  return std::ssize(part.output(port));
}

}  // namespace

CoreMlLlmChunks::CoreMlLlmChunks(PackageFolder& folder, std::span<const std::string> stems,
                                 ThreadPool& pool, const LoadOptions& options,
                                 std::vector<std::string>& unused)
    : chunks_(stems.size()) {
  for (size_t i = 0; i < stems.size(); ++i) {
    const std::string name = folder.file_name(stems[i]);
    mil::Model model = mil::read_package(folder.package(stems[i]));
    for (const mil::FunctionDescription& function : model.functions) {
      if (!function.states.empty()) {
        fail(ErrorCode::Unsupported,
             "{}: state '{}' is not supported (supported: caches as inputs)", name,
             function.states.front().name);
      }
      if (function.name != model.default_function) {
        unused.push_back(fmt::format("{} of {}", function.name, stems[i]));
      }
    }
    chunks_[i].part = std::make_unique<FixedPart>(
        std::move(model), name, engine::options_of_part(options.compute, i, stems.size()));
    chunks_[i].part->prepare(pool);
  }
}

void CoreMlLlmChunks::connect(const std::function<int64_t(CoreMlLlmInput)>& elements) {
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const size_t count = part(i).description().inputs.size();
    for (size_t port = 0; port < count; ++port) connect_input(i, port, elements);
  }
  find_choice();
}

void CoreMlLlmChunks::connect_input(size_t index, size_t port,
                                    const std::function<int64_t(CoreMlLlmInput)>& elements_of) {
  CoreMlLlmChunk& chunk = chunks_[index];
  const std::string& name = chunk.part->description().inputs[port].name;
  const int64_t elements = input_elements(*chunk.part, port);
  // The port of an output that fits.
  const auto fitting = [&](const FixedPart& giver, const std::string& output) {
    const size_t given = giver.output_port(output);
    const int64_t count = output_elements(giver, given);
    if (count != elements) {
      fail(ErrorCode::InvalidFile, "{}: '{}' takes {} elements, '{}' of {} has {}",
           chunk.part->name(), name, elements, output, giver.name(), count);
    }
    return given;
  };
  if (name.ends_with(coreml_llm::kIn)) {
    const std::string next =
        name.substr(0, name.size() - std::string_view(coreml_llm::kIn).size()) + coreml_llm::kOut;
    if (has_output(*chunk.part, next.c_str())) {
      chunk.caches.push_back({port, fitting(*chunk.part, next)});
      return;
    }
  }
  for (size_t other = index; other-- > 0;) {
    const FixedPart& giver = part(other);
    for (const std::string& output : {name, name + coreml_llm::kOut}) {
      if (!has_output(giver, output.c_str())) continue;
      chunk.routes.push_back({port, other, fitting(giver, output)});
      return;
    }
  }
  const GivenName* const given = find_given(name);
  const int64_t known = given == nullptr ? 0 : elements_of(given->kind);
  if (known == 0) {
    fail(ErrorCode::InvalidFile, "{}: no chunk before it gives its input '{}'", chunk.part->name(),
         name);
  }
  if (elements != known) {
    fail(ErrorCode::InvalidFile, "{}: '{}' takes {} elements, {} and the tables have {}",
         chunk.part->name(), name, elements, coreml_llm::kConfigFile, known);
  }
  chunk.given.push_back({given->kind, port});
}

void CoreMlLlmChunks::find_choice() {
  const FixedPart& last = *chunks_.back().part;
  token_ = last.output_port(coreml_llm::kToken);
  const mil::DataType type = last.execution().plan().outputs()[token_].declared;
  if (type != mil::DataType::Int32 || last.execution().int_output(token_).size() != 1) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not one integer", last.name(), coreml_llm::kToken);
  }
  if (!has_output(last, coreml_llm::kLogit)) return;
  logit_ = last.output_port(coreml_llm::kLogit);
  if (output_elements(last, *logit_) != 1) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not one number", last.name(), coreml_llm::kLogit);
  }
}

void CoreMlLlmChunks::copy_routes(const CoreMlLlmChunk& chunk, size_t lane) const {
  for (const auto& route : chunk.routes) {
    const auto source = part(route.chunk).output(route.output, lane);
    std::copy(source.begin(), source.end(), chunk.part->input(route.input, lane).begin());
  }
}

CoreMlLlmChunks::Choice CoreMlLlmChunks::choice(size_t lane, int64_t vocabulary) const {
  const FixedPart& last = *chunks_.back().part;
  const int32_t id = last.execution().int_output(token_, lane)[0];
  if (id < 0 || id >= vocabulary) {
    fail(ErrorCode::InvalidFile, "{}: chose token {} of {}", last.name(), id, vocabulary);
  }
  return {id, logit_ ? last.output(*logit_, lane)[0] : 0};
}

}  // namespace pippin::runtime
