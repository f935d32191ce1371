#include "pippin/runtime/coreml_llm/shared.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/parted_device.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;
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
                                {coreml_llm::kCosSliding, CoreMlLlmInput::CosSliding},
                                {coreml_llm::kSinSliding, CoreMlLlmInput::SinSliding},
                                {coreml_llm::kCosFull, CoreMlLlmInput::CosFull},
                                {coreml_llm::kSinFull, CoreMlLlmInput::SinFull}};
constexpr std::array<std::string_view, 4> kAngles = {"cos_sliding", "sin_sliding", "cos_full",
                                                     "sin_full"};

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

std::vector<AngleTable> read_angles(const CoreMlLlmFiles& files) {
  const std::array<fs::path, 2> folders = {files.root, files.chunk_folder};
  std::vector<AngleTable> tables;
  tables.reserve(kAngles.size());
  for (const std::string_view name : kAngles) tables.emplace_back(folders, name);
  return tables;
}

}  // namespace

CoreMlLlmShared::CoreMlLlmShared(PackageFolder given_folder, const CoreMlLlmFiles& files,
                                 ThreadPool& threads, const LoadOptions& given)
    : folder(std::move(given_folder)),
      pool(threads),
      options(given),
      sizes(read_coreml_llm_sizes(files.root)),
      tokens(files.root, coreml_llm::kTokenTable, sizes.vocabulary, sizes.hidden,
             sizes.embed_scale),
      layers(files.root, coreml_llm::kLayerTable, sizes.vocabulary,
             sizes.layers * sizes.layer_width, sizes.layer_scale),
      angles(read_angles(files)) {
  if (options.low_memory) {
    fail(ErrorCode::Unsupported, "{}: chunks cannot be unloaded between runs (--low-memory)",
         files.root.string());
  }
  if (options.prefill == PrefillMode::Batches) {
    fail(ErrorCode::Unsupported, "{}: prompts run token by token, not in batches",
         files.root.string());
  }
  context = options.context > 0 ? std::min(options.context, sizes.context) : sizes.context;
  for (const AngleTable& table : angles) context = std::min(context, table.positions());
  std::vector<std::string> unused = files.unused;
  chunks.resize(files.chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    open(i, files.chunks[i], unused);
    chunks[i].part->prepare(pool);
    connect(i);
  }
  if (!unused.empty()) {
    log_warn("{}: does not use {}", files.root.string(), fmt::join(unused, ", "));
  }
  find_choice();
}

void CoreMlLlmShared::open(size_t index, const std::string& stem,
                           std::vector<std::string>& unused) {
  const std::string name = folder.file_name(stem);
  mil::Model model = mil::read_package(folder.package(stem));
  for (const mil::FunctionDescription& function : model.functions) {
    if (!function.states.empty()) {
      fail(ErrorCode::Unsupported, "{}: state '{}' is not supported (supported: caches as inputs)",
           name, function.states.front().name);
    }
    if (function.name != model.default_function) {
      unused.push_back(fmt::format("{} of {}", function.name, stem));
    }
  }
  chunks[index].part = std::make_unique<FixedPart>(
      std::move(model), name, engine::options_of_part(options.compute, index, chunks.size()));
}

int64_t CoreMlLlmShared::elements_of(CoreMlLlmInput kind) const {
  switch (kind) {
    case CoreMlLlmInput::Hidden:
      return tokens.width();
    case CoreMlLlmInput::LayerRow:
      return layers.width();
    case CoreMlLlmInput::FullMask:
    case CoreMlLlmInput::UpdateMask:
      return sizes.context;
    case CoreMlLlmInput::SlidingMask:
      return sizes.window;
    default:
      return angles_of(kind).width();
  }
}

void CoreMlLlmShared::connect(size_t index) {
  const size_t count = chunks[index].part->description().inputs.size();
  for (size_t port = 0; port < count; ++port) connect_input(index, port);
}

void CoreMlLlmShared::connect_input(size_t index, size_t port) {
  CoreMlLlmChunk& chunk = chunks[index];
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
    const FixedPart& giver = *chunks[other].part;
    for (const std::string& output : {name, name + coreml_llm::kOut}) {
      if (!has_output(giver, output.c_str())) continue;
      chunk.routes.push_back({port, other, fitting(giver, output)});
      return;
    }
  }
  const GivenName* const given = find_given(name);
  if (given == nullptr) {
    fail(ErrorCode::InvalidFile, "{}: no chunk before it gives its input '{}'", chunk.part->name(),
         name);
  }
  if (elements != elements_of(given->kind)) {
    fail(ErrorCode::InvalidFile, "{}: '{}' takes {} elements, {} and the tables have {}",
         chunk.part->name(), name, elements, coreml_llm::kConfigFile, elements_of(given->kind));
  }
  chunk.given.push_back({given->kind, port});
}

void CoreMlLlmShared::find_choice() {
  const FixedPart& last = *chunks.back().part;
  token = last.output_port(coreml_llm::kToken);
  const mil::DataType type = last.execution().plan().outputs()[token].declared;
  if (type != mil::DataType::Int32 || last.execution().int_output(token).size() != 1) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not one integer", last.name(), coreml_llm::kToken);
  }
  if (!has_output(last, coreml_llm::kLogit)) return;
  logit = last.output_port(coreml_llm::kLogit);
  if (output_elements(last, *logit) != 1) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not one number", last.name(), coreml_llm::kLogit);
  }
}

size_t CoreMlLlmShared::take_lane() {
  return lanes_.take([&](size_t count) {
    for (CoreMlLlmChunk& chunk : chunks) chunk.part->reserve_lanes(count);
  });
}

}  // namespace pippin::runtime
