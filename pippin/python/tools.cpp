// The program's commands for models, with the names of its options: convert, compress, inspect,
// verify, pull.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/app/convert/calibration_corpus.h"
#include "pippin/app/convert/compress.h"
#include "pippin/app/convert/convert_arguments.h"
#include "pippin/app/convert/write_programs.h"
#include "pippin/app/facts/gguf_summary.h"
#include "pippin/app/facts/report_json.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/pull.h"
#include "pippin/app/open/text_input.h"
#include "pippin/app/verify_corpus.h"
#include "pippin/base/error.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/options.h"
#include "pippin/runtime/run_adapter.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
namespace fs = std::filesystem;

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Null without a callback. Any thread of the work may call it.
Progress progress_of(const py::object& call, BackgroundWork& background) {
  if (call.is_none()) return nullptr;
  return [&](uint64_t done, uint64_t total) { background.call_python([&] { call(done, total); }); };
}

// Downloads on the way are reported to the same function.
app::PullObserver observer_of(const py::object& call, BackgroundWork& background) {
  return [&](const std::string& /*repository*/, hub::PullOptions& options) {
    options.progress = progress_of(call, background);
    options.notice = [](const std::string& line) { log_warn("{}", line); };
    return std::shared_ptr<void>();
  };
}

py::object parsed(const std::string& json) {
  return py::module_::import("json").attr("loads")(json);
}

void take_compression(Options& options, app::CompressOptions& compression) {
  options.take("quantize", compression.quantize);
  options.take("per", compression.per);
  options.take("block_size", compression.block_size);
  options.take("asymmetric", compression.asymmetric);
  options.take("symmetric", compression.symmetric);
  options.take("palettize", compression.palettize);
  options.take("group", compression.group);
  options.take("cluster_dim", compression.cluster_dim);
  options.take("lut_dtype", compression.lut_dtype);
  options.take("enable_per_channel_scale", compression.per_channel_scale);
  options.take("prune", compression.prune);
  options.take("n_m_ratio", compression.n_m_ratio);
  options.take("lut_embeddings", compression.lut_embeddings);
  options.take("lut_ffn", compression.lut_ffn);
  options.take("lut_head", compression.lut_head);
  options.take("tensor", compression.tensors);
  options.take("only", compression.only);
  options.take("except_", compression.except);
  options.take("min_elements", compression.min_elements);
  options.take("calibrate", compression.calibrate);
  options.take("calibrate_tokens", compression.calibrate_tokens);
  options.take("calibrate_rounds", compression.calibrate_rounds);
  options.take("calibrate_ids", compression.calibration_ids);
  options.take("scale_inputs", compression.scale_inputs);
  options.take("mixed", compression.mixed);
  options.take("target_size", compression.target_size);
  options.take("threads", compression.threads);
}

app::ConvertOptions convert_options(const py::dict& given) {
  Options options(given);
  app::ConvertArguments arguments;
  app::ConvertOptions& converted = arguments.options;
  options.take("family", converted.family);
  options.take("context", converted.context);
  options.take("fuse_adapter", converted.fused_adapter);
  options.take("random_weights", converted.random_weights);
  options.take("query_lengths", converted.query_lengths);
  options.take("prefill", converted.prefill_length);
  options.take("adapter", arguments.adapters);
  options.take("prefix", converted.prefix);
  options.take("batch", converted.batch);
  options.take("chunks", arguments.chunks);
  options.take("max_chunk_mb", arguments.max_chunk_mb);
  options.take("argmax_in_model", converted.argmax_in_model);
  options.take("blocks_per_chunk", converted.blocks_per_chunk);
  options.take("window", converted.window);
  options.take("cache", converted.cache);
  options.take("norms", converted.norms);
  options.take("image_size", arguments.image_size);
  options.take("compress_vision", converted.compress_vision);
  options.take("mmproj", converted.mmproj);
  take_compression(options, converted.compression);
  options.refuse_others();
  return app::options_of(arguments);
}

py::object convert(const fs::path& source, const fs::path& output, const py::object& progress,
                   const py::dict& given) {
  app::ConvertOptions options = convert_options(given);
  std::string report;
  run_work([&](BackgroundWork& background) {
    app::check_convert_options(source, options);
    const std::string local = options.random_weights
                                  ? source.string()
                                  : app::resolve_model(source.string(), app::ModelPart::All,
                                                       observer_of(progress, background));
    options.progress = progress_of(progress, background);
    report = app::to_json(app::convert(local, output, options));
  });
  return parsed(report);
}

py::object compress(const fs::path& source, const fs::path& output, const py::object& progress,
                    const py::dict& given) {
  app::CompressPackageOptions compressed;
  Options options(given);
  take_compression(options, compressed.compression);
  options.take("recompress", compressed.recompress);
  options.take("min_target", compressed.min_target);
  options.refuse_others();
  std::string report;
  run_work([&](BackgroundWork& background) {
    app::check_compress_options(compressed);
    const std::string local = app::resolve_model(source.string(), app::ModelPart::Package,
                                                 observer_of(progress, background));
    compressed.progress = progress_of(progress, background);
    report = app::to_json(app::compress_package(local, output, compressed));
  });
  return parsed(report);
}

py::object inspect(const fs::path& path, bool mil, bool values) {
  if (values && !mil) fail(ErrorCode::InvalidArgument, "values: are shown with mil=True alone");
  std::string text;
  run_work([&](BackgroundWork& background) {
    const std::string files = app::resolve_model(path.string(), app::ModelPart::Files,
                                                 observer_of(py::none(), background));
    if (const auto gguf = mil ? std::nullopt : app::find_gguf(files)) {
      text = app::gguf_summary_json(*gguf);
      return;
    }
    const mil::Model model = mil::read_package(app::resolve_model(files, app::ModelPart::Package));
    if (mil) {
      app::write_programs(model, values, [&](const std::string& piece) { text += piece; });
    } else {
      text = mil::summary_json(model);
    }
  });
  return mil ? py::object(py::str(text)) : parsed(text);
}

void take_load(Options& options, runtime::LoadOptions& load) {
  options.take("context", load.context);
  options.take("threads", load.threads);
  options.take("adapter", load.adapter);
  std::vector<std::string> adapters;
  options.take("lora", adapters);
  for (const std::string& text : adapters) {
    load.run_adapters.push_back(runtime::parse_run_adapter(text));
  }
  options.take("mmproj", load.mmproj);
  options.take("low_memory", load.low_memory);
  bool no_cache = false;
  options.take("no_cache", no_cache);
  if (!no_cache) load.compute.cache = default_load_cache();
}

py::object verify(const fs::path& model, const fs::path& against, const py::object& progress,
                  const py::dict& given) {
  Options options(given);
  app::VerifyOptions verified;
  app::VerifyLimits& limits = verified.limits;
  app::TokenInput tokens;
  fs::path text, tokenizer, sound;
  app::CorpusOptions corpus;
  options.take("corpus", corpus.input);
  options.take("output", corpus.folder);
  options.take("shard", corpus.shard);
  options.take("text", text);
  options.take("sound", sound);
  options.take("ids", tokens.ids);
  options.take("tokenizer", tokenizer);
  options.take("window", verified.agreement.window);
  options.take("greedy", verified.agreement.greedy_tokens);
  options.take("max_kl", limits.max_kl);
  options.take("min_top1", limits.min_top1);
  options.take("max_perplexity_increase", limits.max_perplexity_increase);
  options.take("max_step_difference", limits.max_step_difference);
  options.take("max_prefill_difference", limits.max_prefill_difference);
  options.take("max_part_difference", limits.max_part_difference);
  options.take("same_greedy", limits.same_greedy);
  runtime::LoadOptions load;
  take_load(options, load);
  options.refuse_others();
  if ((tokens.ids.empty() ? 0 : 1) + (text.empty() ? 0 : 1) + (sound.empty() ? 0 : 1) +
          (corpus.input.empty() ? 0 : 1) !=
      1) {
    fail(ErrorCode::InvalidArgument, "one of ids, text, sound and corpus is needed");
  }
  if (corpus.input.empty() != corpus.folder.empty()) {
    fail(ErrorCode::InvalidArgument, "corpus and output belong together");
  }
  if (verified.agreement.window < 1 || verified.agreement.greedy_tokens < 0) {
    fail(ErrorCode::InvalidArgument, "window is {} and greedy {}: 1 and 0 at least",
         verified.agreement.window, verified.agreement.greedy_tokens);
  }
  std::string report;
  run_work([&](BackgroundWork& background) {
    if (!text.empty()) tokens.text = app::read_text(text.string());
    runtime::LoadOptions source_load = load;
    source_load.adapter.clear();
    const auto pulls = observer_of(py::none(), background);
    verified.agreement.progress = progress_of(progress, background);
    const app::ModelChoice checked{model.string(), "", load, pulls, false};
    const app::ModelChoice source{against.string(), tokenizer.string(), source_load, pulls, false};
    if (!corpus.input.empty()) {
      corpus.progress = progress_of(progress, background);
      report = app::to_json(app::verify_corpus(checked, source, corpus, verified));
      return;
    }
    report =
        app::to_json(sound.empty() ? app::verify(checked, source, tokens, verified)
                                   : app::verify_speech(checked, source, sound.string(), verified));
  });
  return parsed(report);
}

py::object calibrate(const fs::path& model, const fs::path& texts, const fs::path& output,
                     const py::object& progress, const py::dict& given) {
  Options options(given);
  app::CalibrationCorpus corpus;
  app::CalibrationOptions how;
  corpus.input = texts;
  corpus.folder = output;
  options.take("shard", corpus.shard);
  options.take("window", how.window);
  options.take("threads", how.threads);
  options.refuse_others();
  if (how.window < 1) fail(ErrorCode::InvalidArgument, "window is {}: 1 at least", how.window);
  app::CalibrationSums sums;
  run_work([&](BackgroundWork& background) {
    corpus.progress = progress_of(progress, background);
    sums = app::calibrate_corpus(app::resolve_model(model.string()), corpus, how);
  });
  py::dict result;
  result["output"] = output.string();
  result["texts"] = sums.texts;
  result["tokens"] = sums.tokens;
  result["parts"] = sums.parts;
  return result;
}

py::object pull(const std::string& repo, const py::object& progress, const py::dict& given) {
  Options options(given);
  app::PullRequest request;
  fs::path local_dir, cache_dir;
  request.repo = repo;
  options.take("files", request.files);
  options.take("revision", request.revision);
  options.take("include", request.include);
  options.take("exclude", request.exclude);
  options.take("local_dir", local_dir);
  options.take("cache_dir", cache_dir);
  options.take("token", request.token);
  options.take("max_workers", request.max_workers);
  options.refuse_others();
  constexpr int kMostWorkers = 32;
  if (request.max_workers < 1 || request.max_workers > kMostWorkers) {
    fail(ErrorCode::InvalidArgument, "max_workers is {}: from 1 to {} are possible",
         request.max_workers, kMostWorkers);
  }
  request.local_dir = local_dir.string();
  request.cache_dir = cache_dir.string();
  std::string report;
  run_work([&](BackgroundWork& background) {
    report = app::to_json(app::pull(request, observer_of(progress, background)));
  });
  return parsed(report);
}

}  // namespace

void bind_tools(py::module_& module) {
  module.def(
      "_resolve_model",
      [](const std::string& model) {
        std::string local;
        run_work([&](BackgroundWork& /*background*/) { local = app::resolve_model(model); });
        return local;
      },
      py::arg("model"), "The file or folder of a model on this machine.");
  module.def("_convert", &convert, py::arg("source"), py::arg("output"), py::arg("progress"),
             py::arg("options"));
  module.def("_compress", &compress, py::arg("package"), py::arg("output"), py::arg("progress"),
             py::arg("options"));
  module.def("_inspect", &inspect, py::arg("package"), py::arg("mil"), py::arg("values"));
  module.def("_verify", &verify, py::arg("model"), py::arg("against"), py::arg("progress"),
             py::arg("options"));
  module.def("_calibrate", &calibrate, py::arg("model"), py::arg("corpus"), py::arg("output"),
             py::arg("progress"), py::arg("options"));
  module.def("_pull", &pull, py::arg("repo"), py::arg("progress"), py::arg("options"));
}

}  // namespace pippin::python
