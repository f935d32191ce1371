// Compiled models (.mlmodelc): model.mil in text, weights next to it, and an interface in up to
// three places: coremldata.bin, metadata.json, and the program itself. The first that matches the
// program is used.
#include <algorithm>
#include <functional>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/log.h"
#include "pippin/io/json.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/networks/espresso.h"
#include "pippin/mil/package/coreml_data.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/package/weights.h"
#include "pippin/mil/proto/output_names.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgramText = "model.mil";
constexpr std::string_view kNetworkFile = "model.espresso.net";

class CompiledReader {
 public:
  CompiledReader(const fs::path& root, const std::vector<fs::path>& roots)
      : root_(fs::absolute(root)), roots_(roots) {}

  // Reads the program in a file, on its own or in a compiled model.
  Model read_text(const fs::path& file) const {
    const auto text = MappedFile::open(file);
    Model model;
    model.program = parse_text(as_text(text->bytes()), file.filename().string());
    WeightFiles(file.parent_path(), root_, roots_).attach(model.program);
    verify(model.program);
    if (file.filename() == kProgramText) {
      describe(file.parent_path(), model);
    } else {
      model = describe_program(std::move(model.program));
    }
    // A version below that of the program is invalid.
    for (const auto& [name, function] : model.program.functions) {
      const auto opset = parse_opset(function->opset);
      if (!opset) continue;
      model.specification_version =
          std::max(model.specification_version, specification_version(*opset));
    }
    return model;
  }

  Model read(const fs::path& folder, int depth) const {
    const int64_t kind = kind_of(folder);
    if (kind == kMlProgramField) return read_program(folder);
    const bool pipeline = is_pipeline_kind(static_cast<ModelKind>(kind));
    if (is_translated_kind(kind)) return read_translated(folder, kind);
    if (is_network_kind(kind)) return read_network(folder, kind);
    if (!pipeline) fail_model_kind(kind, version_of(folder));
    if (depth > kMaxPipelineDepth) {
      fail(ErrorCode::LimitExceeded, "pipelines nest deeper than {}", kMaxPipelineDepth);
    }
    return read_pipeline(folder, kind, depth);
  }

 private:
  // The path of a file that exists inside the package; otherwise nullopt.
  std::optional<fs::path> find(const fs::path& folder, std::string_view name) const {
    const fs::path path = inside(folder, name, roots_, "compiled model");
    if (!fs::is_regular_file(path)) return std::nullopt;
    return path;
  }

  Json load_metadata(const fs::path& path) const {
    return Json::load(path, {.max_bytes = size_t{64} << 20});
  }

  // A part of a compiled network. Those of Apple's systems are archives of blocks, which begin with
  // "pbz" and a letter for the compression: "e" is LZFSE.
  Json load_network_part(const fs::path& path) const {
    constexpr std::string_view kArchive = "pbz";
    const auto file = MappedFile::open(path);
    const std::string_view text = as_text(file->bytes());
    if (text.size() > kArchive.size() && text.starts_with(kArchive)) {
      fail(ErrorCode::Unsupported, "{} is an archive of Apple's kind '{}', not JSON",
           path.filename().string(), text.substr(0, kArchive.size() + 1));
    }
    return load_metadata(path);
  }

  // Determined by coremldata.bin; if that is absent or unreadable, by metadata.json, else by the
  // files in the folder.
  int64_t kind_of(const fs::path& folder) const {
    int64_t unknown = 0;
    if (const auto path = find(folder, "coremldata.bin")) {
      const auto file = MappedFile::open(*path);
      if (file->bytes().size() >= sizeof(uint32_t)) {
        unknown = coreml_data_kind(file->bytes());
        if (is_model_kind(unknown)) return unknown;
      }
      log_debug("{}: coremldata.bin names no kind of model", folder.filename().string());
    }
    if (const auto path = find(folder, "metadata.json")) {
      const auto kind = model_kind(metadata_model_type(load_metadata(*path)));
      if (kind) return model_kind_field(*kind);
    }
    if (find(folder, kProgramText)) return kMlProgramField;
    if (fs::is_directory(folder / "model0")) return kPipelineField;
    if (unknown != 0) return unknown;
    fail(ErrorCode::NotFound, "neither coremldata.bin nor model.mil in it; not a compiled model");
  }

  // For messages about models of other kinds; 0 if no file states the version.
  int64_t version_of(const fs::path& folder) const {
    try {
      const auto path = find(folder, "coremldata.bin");
      const int64_t version = path ? coreml_data_version(MappedFile::open(*path)->bytes()) : 0;
      if (version > 0) return version;
    } catch (const Error& error) {
      log_debug("{}", error.what());
    }
    try {
      if (const auto path = find(folder, "metadata.json")) {
        return parse_metadata(load_metadata(*path)).specification_version;
      }
    } catch (const Error& error) {
      log_debug("{}", error.what());
    }
    return 0;
  }

  // Fills in the interface of a model that already has its program or stages.
  void describe(const fs::path& folder, Model& model) const {
    if (describe_from(folder, "coremldata.bin", model, [](const fs::path& path) {
          const auto file = MappedFile::open(path);
          const CoreMlData data = parse_coreml_data(file->bytes());
          Model described = parse_description(data.description);
          described.specification_version = static_cast<int32_t>(data.specification_version);
          return described;
        })) {
      return;
    }
    if (describe_from(folder, "metadata.json", model, [this](const fs::path& path) {
          return parse_metadata(load_metadata(path));
        })) {
      return;
    }
    if (model.is_pipeline()) {
      fail(ErrorCode::InvalidFile,
           "neither coremldata.bin nor metadata.json tells the inputs and outputs of the pipeline");
    }
    log_debug("{}: interface from the program's types", folder.filename().string());
    model = describe_program(std::move(model.program));
  }

  // Whether the file exists, is readable and matches the program; it then describes the model.
  bool describe_from(const fs::path& folder, std::string_view name, Model& model,
                     const std::function<Model(const fs::path&)>& read) const {
    const auto path = find(folder, name);
    if (!path) return false;
    try {
      Model described = read(*path);
      described.kind = model.kind;
      described.program = std::move(model.program);
      described.stages = std::move(model.stages);
      std::swap(model, described);
      try {
        check_description(model);
      } catch (...) {
        described.program = std::move(model.program);
        described.stages = std::move(model.stages);
        std::swap(model, described);
        throw;
      }
    } catch (const Error& error) {
      log_debug("{}: {} does not describe the model: {}", folder.filename().string(), name,
                error.what());
      return false;
    }
    log_debug("{}: interface from {}", folder.filename().string(), name);
    return true;
  }

  Model read_program(const fs::path& folder) const {
    const auto path = find(folder, kProgramText);
    if (!path) fail(ErrorCode::NotFound, "no model.mil in it, though it says it is an ML Program");
    return read_text(*path);
  }

  // A neural network: separate files for layers, sizes and weights.
  Model read_network(const fs::path& folder, int64_t kind) const {
    const auto description = find(folder, "coremldata.bin"), net = find(folder, kNetworkFile),
               shapes = find(folder, "model.espresso.shape"),
               weights = find(folder, "model.espresso.weights");
    if (!description || !net || !shapes || !weights) {
      fail(ErrorCode::NotFound,
           "a compiled network has coremldata.bin, model.espresso.net, model.espresso.shape and "
           "model.espresso.weights; one of them is absent");
    }
    const auto file = MappedFile::open(*description);
    const CoreMlData data = parse_coreml_data(file->bytes());
    Model model = parse_description(data.description);
    model.network_kind = model_kind_name(kind);
    model.network_version = static_cast<int32_t>(data.specification_version);
    const std::vector<Feature> declared = model.functions.front().outputs;
    const auto blobs = MappedFile::open(*weights);
    const networks::EspressoFiles files{load_network_part(*net), load_network_part(*shapes),
                                        blobs->bytes(), data.rest};
    model.program =
        networks::translate_espresso(files, network_kind(kind), model.functions.front(), blobs);
    model.specification_version =
        specification_version(model.program.function(model.functions.front().name).opset_version());
    verify(model.program);
    model = with_output_names(std::move(model), declared);
    check_description(model);
    return model;
  }

  // The model is in coremldata.bin or, as earlier versions of Pippin wrote it, in the form that
  // packages have.
  Model read_translated(const fs::path& folder, int64_t kind) const {
    Model model = read_whole(folder, kind);
    if (model.has_program()) verify(model.program);
    check_description(model);
    return model;
  }

  Model read_whole(const fs::path& folder, int64_t kind) const {
    const auto checked = [&](Model model, std::string_view where) {
      if (model_kind_field(model.kind) == kind) return model;
      fail(ErrorCode::InvalidFile, "{} is a {}, coremldata.bin says {}", where,
           to_string(model.kind), model_kind_name(kind));
    };
    if (const auto path = find(folder, kUncompiledModel)) {
      const auto file = MappedFile::open(*path);
      return checked(with_context(kUncompiledModel, [&] { return parse_model(file->bytes()); }),
                     kUncompiledModel);
    }
    std::optional<Error> first;
    if (const auto path = find(folder, "coremldata.bin")) {
      const auto file = MappedFile::open(*path);
      for (const ByteSpan candidate : whole_model_candidates(file->bytes())) {
        try {
          return checked(parse_model(candidate), "the model in it");
        } catch (const Error& error) {
          if (!first) first = error;
        }
      }
    }
    if (first) fail(first->code(), "coremldata.bin: {}", first->what());
    fail(ErrorCode::InvalidFile, "coremldata.bin: no {} after its head", model_kind_name(kind));
  }

  std::vector<std::string> stage_names(const fs::path& folder) const {
    const fs::path names = inside(folder, "modelNames", roots_, "compiled model");
    if (!fs::is_directory(names)) return {};
    const auto path = find(names, "coremldata.bin");
    return path ? parse_model_names(MappedFile::open(*path)->bytes()) : std::vector<std::string>();
  }

  Model read_pipeline(const fs::path& folder, int64_t kind, int depth) const {
    Model model;
    model.kind = static_cast<ModelKind>(kind);
    const std::vector<std::string> names = stage_names(folder);
    for (size_t i = 0; i < kMaxCompiledStages; ++i) {
      const std::string name = fmt::format("model{}", i);
      const fs::path stage_folder = inside(folder, name, roots_, "compiled model");
      if (!fs::is_directory(stage_folder)) break;
      PipelineStage& stage = model.stages.emplace_back();
      stage.name = i < names.size() ? names[i] : name;
      with_context(stage_name(model, i), [&] { stage.model = read(stage_folder, depth + 1); });
    }
    if (model.stages.empty()) fail(ErrorCode::InvalidFile, "a pipeline without stages (model0)");
    if (!names.empty() && names.size() != model.stages.size()) {
      fail(ErrorCode::InvalidFile, "a pipeline of {} stages with {} names", model.stages.size(),
           names.size());
    }
    describe(folder, model);
    take_defaults(model);
    return model;
  }

  fs::path root_;
  const std::vector<fs::path>& roots_;
};

}  // namespace

Model read_compiled(const fs::path& folder, const fs::path& root,
                    const std::vector<fs::path>& roots) {
  return CompiledReader(root, roots).read(fs::absolute(folder), 0);
}

Model read_program_text(const fs::path& file, const std::vector<fs::path>& roots) {
  const fs::path path = fs::absolute(file);
  return CompiledReader(path.parent_path(), roots).read_text(path);
}

}  // namespace pippin::mil
