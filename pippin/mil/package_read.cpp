#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/mapped_file.h"
#include "pippin/io/json.h"
#include "pippin/mil/package.h"
#include "pippin/mil/serialize.h"
#include "pippin/mil/verify.h"
#include "pippin/mil/weights.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

// Where links of the package's files may lead: the package itself and, in the Hugging Face cache
// (models--x/snapshots/revision/X.mlpackage), the folder models--x/blobs that holds the contents.
std::vector<fs::path> allowed_roots(const fs::path& package) {
  std::vector<fs::path> roots = {fs::canonical(package)};
  fs::path folder = fs::absolute(package).lexically_normal();
  while (folder.has_relative_path()) {
    const bool snapshots = folder.filename() == "snapshots";
    folder = folder.parent_path();
    if (snapshots && fs::is_directory(folder / "blobs")) {
      roots.push_back(fs::canonical(folder / "blobs"));
    }
  }
  return roots;
}

void check_manifest_version(const std::string& version) {
  int numbers[3] = {};
  char rest = 0;
  if (std::sscanf(version.c_str(), "%d.%d.%d%c", &numbers[0], &numbers[1], &numbers[2], &rest) !=
          3 ||
      *std::min_element(numbers, numbers + 3) < 0) {
    fail(ErrorCode::InvalidFile, "Manifest.json: fileFormatVersion '{}' is no version", version);
  }
  static constexpr int kNewest[3] = {1, 0, 0};
  if (std::lexicographical_compare(kNewest, kNewest + 3, numbers, numbers + 3)) {
    fail(ErrorCode::Unsupported, "Manifest.json: fileFormatVersion {}; up to 1.0.0 is read",
         version);
  }
}

// The model file that the manifest names.
fs::path find_model(const fs::path& package, const std::vector<fs::path>& roots) {
  const fs::path manifest_path = package / "Manifest.json";
  if (!fs::is_regular_file(manifest_path)) {
    fail(ErrorCode::NotFound, "no Manifest.json in it; not a model package");
  }
  const Json manifest = Json::load(manifest_path, {.max_bytes = size_t{16} << 20});
  check_manifest_version(manifest.get_string("fileFormatVersion"));
  const std::string root = manifest.get_string("rootModelIdentifier");
  fs::path model;
  for (const auto& [identifier, item] : manifest.at("itemInfoEntries").members()) {
    // Items that are absent are no error: graphs are shared without their weights.
    const fs::path path = inside(package / "Data", item.get_string("path"), roots,
                                 fmt::format("Manifest.json: item {}", identifier));
    if (identifier == root) model = path;
  }
  if (model.empty()) {
    fail(ErrorCode::InvalidFile, "Manifest.json: no item for rootModelIdentifier '{}'", root);
  }
  if (!fs::is_regular_file(model)) {
    fail(ErrorCode::NotFound, "{}, which Manifest.json names, does not exist",
         model.lexically_relative(package).string());
  }
  return model;
}

void check_names(const std::vector<Feature>& features, std::vector<std::string> names,
                 std::string_view what) {
  std::vector<std::string> described;
  described.reserve(features.size());
  for (const Feature& feature : features) described.push_back(feature.name);
  std::sort(described.begin(), described.end());
  std::sort(names.begin(), names.end());
  if (described == names) return;
  std::vector<std::string> odd;
  std::set_symmetric_difference(described.begin(), described.end(), names.begin(), names.end(),
                                std::back_inserter(odd));
  const std::string& name = odd.front();
  const bool undescribed = std::find(names.begin(), names.end(), name) != names.end();
  fail(ErrorCode::InvalidFile, "the {} '{}' of the {} is not in the {}", what, name,
       undescribed ? "program" : "description", undescribed ? "description" : "program");
}

// The description speaks of the functions' inputs, states and outputs, and of no others.
void check_description(const Model& model) {
  for (const FunctionDescription& description : model.functions) {
    with_context(fmt::format("function '{}'", description.name), [&] {
      const Function& function = model.program.function(description.name);
      std::vector<std::string> inputs, states, outputs;
      for (const auto& input : function.inputs) {
        (input->type.is_state() ? states : inputs).push_back(input->name);
      }
      for (const Var* output : function.block().outputs()) outputs.push_back(output->name);
      check_names(description.inputs, inputs, "input");
      check_names(description.states, states, "state");
      check_names(description.outputs, outputs, "output");
    });
  }
  model.description(model.default_function);
}

Model read_files(const fs::path& path) {
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: no such package", path.string());
  const bool folder = fs::is_directory(path);
  if (folder && fs::is_regular_file(path / "model.mil")) {
    fail(ErrorCode::Unsupported, "a compiled model; Pippin reads the .mlpackage it came from");
  }
  const auto roots = allowed_roots(folder ? path : fs::absolute(path).parent_path());
  const fs::path file = folder ? find_model(path, roots) : path;
  const auto bytes = MappedFile::open(file);
  Model model =
      folder ? with_context(file.filename().string(), [&] { return parse_model(bytes->bytes()); })
             : parse_model(bytes->bytes());
  model.path = path;
  WeightFiles(fs::absolute(file).parent_path(), roots).attach(model.program);
  verify(model.program);
  check_description(model);
  return model;
}

}  // namespace

bool is_package(const fs::path& path) {
  if (!fs::is_directory(path)) return path.extension() == ".mlmodel" && fs::is_regular_file(path);
  return fs::exists(path / "Manifest.json") || fs::exists(path / "model.mil") ||
         fs::exists(path / "coremldata.bin");
}

Model read_package(const fs::path& path) {
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return with_context(name, [&] {
    try {
      return read_files(path);
    } catch (const fs::filesystem_error& error) {  // permissions, loops of links
      fail(ErrorCode::Io, "{}", error.what());
    }
  });
}

}  // namespace pippin::mil
