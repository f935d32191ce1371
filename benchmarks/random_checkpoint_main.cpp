// pippin-random-checkpoint: see random_checkpoint.h.
#include <chrono>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>

#include "benchmarks/random_checkpoint.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/text.h"

namespace {

void run(const std::string& config, const std::string& preset, const std::string& folder,
         pippin::RandomCheckpointOptions options) {
  if (!config.empty()) {
    options.config_json = pippin::read_file(config, size_t{1} << 20);
    options.shape = pippin::shape_from_config(options.config_json, config);
  } else {
    options.shape = pippin::preset_shape(preset);
  }
  const auto start = std::chrono::steady_clock::now();
  pippin::write_random_checkpoint(folder, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const uint64_t bytes = pippin::checkpoint_bytes(options.shape, options.dtype);
  std::printf(
      "%s: %s in %.1f s (%s/s)\n", folder.c_str(), pippin::format_bytes(bytes).c_str(),
      seconds.count(),
      pippin::format_bytes(static_cast<uint64_t>(static_cast<double>(bytes) / seconds.count()))
          .c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a Hugging Face folder of a Llama-like model with random weights");
  std::string config;
  std::string preset = "llama-1.3b";
  std::string folder;
  pippin::RandomCheckpointOptions options;
  auto* config_option =
      app.add_option("--config", config, "config.json of the model")->check(CLI::ExistingFile);
  app.add_option("--preset", preset,
                 "tiny, llama-160m, llama-1.3b, llama-3b, llama-7b, olmoe-7b, qwen3-30b-a3b-12 or "
                 "mamba2-1.3b")
      ->excludes(config_option)
      ->capture_default_str();
  app.add_option("-o,--output", folder, "the folder to make")->required();
  const std::map<std::string, pippin::Dtype> dtypes = {
      {"f16", pippin::Dtype::F16}, {"bf16", pippin::Dtype::BF16}, {"f32", pippin::Dtype::F32}};
  std::string dtype = "f16";
  app.add_option("--dtype", dtype, "f16, bf16 or f32")
      ->check(CLI::IsMember(dtypes))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "the same seed gives the same bytes")
      ->capture_default_str();
  app.add_option("--shards", options.shards, "number of weight files")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.dtype = dtypes.at(dtype);
  try {
    run(config, preset, folder, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pippin-random-checkpoint: %s\n", error.what());
    return 1;
  }
  return 0;
}
