// Writes compiled models: the program as text, the interface three times, weights linked.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/digest.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/coreml_data.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/weight_writer.h"
#include "pippin/mil/package/weights.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"
#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

// The size up to which inline constants that could be in a weight file stay inline.
constexpr uint64_t kMaxInlineBytes = uint64_t{1} << 20;

// The weight files that a program refers to, by their path in the compiled model's folder; the
// value is empty for an absent file. Nullopt if some weights are not in such a file.
std::optional<std::map<std::string, fs::path>> files_to_link(const Model& model) {
  std::map<std::string, fs::path> files;
  bool complete = true;
  uint64_t inline_bytes = 0;
  for_each_constant(model.program, [&](const Value& value, const ConstantPlace& place) {
    if (value.source == nullptr) {
      if (place.operand && belongs_in_weight_file(value, model.specification_version)) {
        inline_bytes += value.bytes.size();
      }
      return;
    }
    const auto file = weight_file_of(*value.source);
    const bool plain = value.blob && value.blob->path.starts_with(kModelFolderPrefix);
    if (!file || !plain) {
      complete = false;
      return;
    }
    const std::string path = value.blob->path.substr(kModelFolderPrefix.size());
    const auto [known, fresh] = files.emplace(path, *file);
    const fs::path normal = fs::path(path).lexically_normal();
    complete = complete && normal == fs::path(path) && *normal.begin() != ".." &&
               (fresh || known->second == *file);
  });
  if (!complete || inline_bytes > kMaxInlineBytes) return std::nullopt;
  return files;
}

void link_file(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  const fs::path real = fs::canonical(from);
  std::error_code error;
  fs::create_hard_link(real, to, error);
  if (!error) return;
  log_debug("{}: copied, not linked: {}", to.filename().string(), error.message());
  check_cancel();
  fs::copy_file(real, to);
  fs::permissions(to, fs::perms::owner_write, fs::perm_options::add);
}

std::string digest_of(std::string_view content) {
  Digest digest = Digest::sha256();
  digest.update(as_byte_span(content));
  return digest.finish();
}

class CompiledWriter {
 public:
  CompiledWriter(const CompileOptions& options, std::string class_name)
      : options_(options), class_name_(std::move(class_name)) {}

  void write(const Model& model, const fs::path& folder) const {
    fs::create_directories(folder);
    std::string content;
    if (model.is_pipeline()) {
      write_stages(model, folder);
    } else if (model.is_translated()) {
      content = serialize_model(model);
    } else {
      content = write_program(model, folder);
    }
    check_cancel();
    const std::string description = serialize_description(model);
    const CoreMlData data = {model_kind_field(model.kind), model.specification_version,
                             as_byte_span(description)};
    const size_t functions = model.multifunction ? model.functions.size() : 0;
    std::vector<DataForm> stages;
    for (const PipelineStage& stage : model.stages) {
      stages.push_back(stage.model.is_translated() ? DataForm::WholeModel : DataForm::Description);
    }
    write_whole(folder / "coremldata.bin",
                model.is_translated()
                    ? print_whole_model(data.kind, data.specification_version, content)
                    : print_coreml_data(data, functions, stages));
    write_whole(folder / "metadata.json", print_metadata(model, class_name_));
    write_whole(folder / "analytics" / "coremldata.bin",
                print_analytics(digest_of(description + content)));
  }

 private:
  void write_stages(const Model& model, const fs::path& folder) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < model.stages.size(); ++i) {
      names.push_back(model.stages[i].name);
      with_context(stage_name(model, i),
                   [&] { write(model.stages[i].model, folder / fmt::format("model{}", i)); });
    }
    write_whole(folder / "modelNames" / "coremldata.bin", print_model_names(names));
  }

  // Returns the text.
  std::string write_program(const Model& model, const fs::path& folder) const {
    PrintOptions print_options;
    std::optional<WeightWriter> weights;
    if (const auto links = files_to_link(model)) {
      for (const auto& [path, file] : *links) {
        if (!file.empty()) link_file(file, folder / path);
      }
      print_options.blob_of = [](const Value& value) { return value.blob; };
    } else {
      weights.emplace(model, options_.progress);
      weights->write(folder / "weights");
      print_options.blob_of = [&](const Value& value) { return weights->find(value); };
    }
    std::string text = print(model.program, print_options);
    write_whole(folder / "model.mil", text);
    return text;
  }

  const CompileOptions& options_;
  const std::string class_name_;
};

// A name that generated code could have.
std::string class_name_of(const fs::path& path) {
  std::string name = path.stem().string();
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!plain) c = '_';
  }
  return name;
}

void check_compilable(const Model& model) {
  if (model.stages.size() > kMaxCompiledStages) {
    fail(ErrorCode::LimitExceeded, "{} stages, compiled models have at most {}",
         model.stages.size(), kMaxCompiledStages);
  }
  for (size_t i = 0; i < model.stages.size(); ++i) {
    with_context(stage_name(model, i), [&] { check_compilable(model.stages[i].model); });
  }
  if (model.has_program()) verify(model.program);
}

}  // namespace

void write_compiled(const Model& model, const fs::path& path, const CompileOptions& options) {
  const fs::path target = path.has_filename() ? path : path.parent_path();
  if (target.extension() != ".mlmodelc") {
    fail(ErrorCode::InvalidArgument, "{}: a compiled model's name must end in .mlmodelc",
         path.string());
  }
  check_compilable(model);
  PendingOutput output(target);
  try {
    CompiledWriter(options, class_name_of(target)).write(model, output.path());
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::Io, "{}", error.what());
  }
  output.commit();
}

}  // namespace pippin::mil
