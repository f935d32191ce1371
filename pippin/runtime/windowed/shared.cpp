#include "pippin/runtime/windowed/shared.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/engine/parted_device.h"
#include "pippin/families/windowed.h"

namespace pippin::runtime {

WindowedShared::WindowedShared(PackageFolder given_folder, const WindowedFiles& files,
                               ThreadPool& threads, const LoadOptions& given_options)
    : folder(std::move(given_folder)),
      pool(threads),
      options(given_options),
      positions(files.positions),
      cache_pool(1) {
  std::vector<NamedDescription> descriptions;
  for (size_t i = 0; i < files.chunks.size(); ++i) {
    chunks.push_back(
        open(files.chunks[i], engine::options_of_part(options.compute, i, files.chunks.size())));
    descriptions.push_back({chunks.back()->name(), &chunks.back()->description()});
  }
  // Caches are the caller's: the processors run where the caller does.
  processor = open(files.cache_processor, engine::options_of_end(options.compute, false));
  schema = windowed_schema(descriptions, {processor->name(), &processor->description()});
  ports_.emplace(schema, chunks, *processor);
  context = options.context > 0 ? std::min(options.context, schema.context) : schema.context;
  processor->prepare(cache_pool);
  if (!files.logit_processor.empty()) open_logit_processor(files.logit_processor);
  if (options.low_memory) {
    for (auto& chunk : chunks) chunk->release();
  } else {
    for (auto& chunk : chunks) chunk->prepare(pool);
  }
  find_vocabulary();
}

std::unique_ptr<FixedPart> WindowedShared::open(const std::string& stem,
                                                const engine::ComputeOptions& compute) {
  return std::make_unique<FixedPart>(folder.package(stem), folder.file_name(stem), compute);
}

void WindowedShared::open_logit_processor(const std::string& stem) {
  logit_processor = open(stem, engine::options_of_end(options.compute, true));
  for (const std::string& part : schema.logits) {
    const auto& inputs = logit_processor->description().inputs;
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const auto& input) { return input.name == part; })) {
      fail(ErrorCode::InvalidFile, "{}: takes no '{}', which '{}' gives", logit_processor->name(),
           part, chunks.back()->name());
    }
    logit_inputs.push_back(logit_processor->input_port(part));
  }
  logit_processor->prepare(pool);
  argmax = logit_processor->output_port(families::windowed::kArgmax);
}

void WindowedShared::find_vocabulary() {
  FixedPart& last = *chunks.back();
  last.prepare(pool);
  for (size_t i = 0; i < schema.logits.size(); ++i) {
    const size_t port = ports().logits[i];
    const auto shape = last.execution().output_shape(port);
    if (shape.size() < 2 ||
        last.output(port).size() != static_cast<size_t>(schema.window * shape.back())) {
      fail(ErrorCode::Unsupported, "{}: '{}' does not have a row for each of {} tokens",
           last.name(), schema.logits[i], schema.window);
    }
    part_sizes.push_back(shape.back());
    vocab_size += shape.back();
  }
  if (options.low_memory) last.release();
}

size_t WindowedShared::take_lane() {
  return lanes_.take([&](size_t count) {
    worker.wait_all();  // its jobs point to memory that moves
    if (options.low_memory) return;
    for (auto& chunk : chunks) chunk->reserve_lanes(count);
  });
}

}  // namespace pippin::runtime
