#include "pippin/cli/output_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/archive.h"
#include "pippin/api/picture.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/cli/options/named_arrays.h"
#include "pippin/cli/options/rows_file.h"
#include "pippin/image/picture.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

bool holds_all(const fs::path& path) {
  const std::string ending = extension_of(path);
  return ending == ".npz" || is_rows_name(path);
}

bool holds_one(const fs::path& path) {
  return extension_of(path) == ".npy" || is_picture_name(path);
}

bool is_image(const FeatureInfo& output) {
  return output.kind == FeatureInfo::Kind::Image;
}

// Whether the file's format can hold the output.
bool fits(const OutputFile& file, const FeatureInfo& output) {
  return is_picture_name(file.path) ? is_image(output)
                                    : output.kind != FeatureInfo::Kind::Dictionary;
}

std::string names_of(const std::vector<FeatureInfo>& outputs) {
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const FeatureInfo& output : outputs) names.push_back(output.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const FeatureInfo& named_output(const OutputFile& file, const std::vector<FeatureInfo>& outputs) {
  for (const FeatureInfo& output : outputs) {
    if (output.name != file.name) continue;
    if (fits(file, output)) return output;
    fail(ErrorCode::InvalidArgument, "--output {}: the output '{}' is {}", file.path.string(),
         output.name,
         is_picture_name(file.path) ? "not an image (.npy, .npz and .json hold arrays)"
                                    : "a dictionary (.npz and .json hold it)");
  }
  fail(ErrorCode::InvalidArgument, "--output {}: unknown output '{}'; the outputs: {}",
       file.path.string(), file.name, names_of(outputs));
}

// The only output that the file can hold.
const FeatureInfo& only_output(const OutputFile& file, const std::vector<FeatureInfo>& outputs) {
  std::vector<FeatureInfo> fitting;
  std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(fitting),
               [&](const FeatureInfo& output) { return fits(file, output); });
  const bool picture = is_picture_name(file.path);
  if (fitting.empty()) {
    fail(ErrorCode::InvalidArgument, "--output {}: the model has no {}; its outputs: {}",
         file.path.string(), picture ? "image output (.npy, .npz and .json hold arrays)" : "array",
         names_of(outputs));
  }
  if (fitting.size() > 1) {
    fail(ErrorCode::InvalidArgument,
         "--output {}: holds one of {} outputs; name it, NAME={}, or write all into an .npz: {}",
         file.path.string(), fitting.size(), file.path.string(), names_of(fitting));
  }
  return *std::find_if(outputs.begin(), outputs.end(), [&](const FeatureInfo& output) {
    return output.name == fitting.front().name;
  });
}

}  // namespace

OutputFile parse_output(const std::string& argument) {
  const size_t equals = argument.find('=');
  // A path may contain '=' as well.
  const bool has_folder = argument.substr(0, equals).find('/') != std::string::npos;
  const bool is_named = equals != std::string::npos && equals > 0 && !has_folder;
  if (is_named && holds_one(argument.substr(equals + 1))) {
    return {argument.substr(0, equals), argument.substr(equals + 1)};
  }
  if (holds_all(argument) || holds_one(argument)) return {"", argument};
  fail(ErrorCode::InvalidArgument,
       "\"{}\" is neither FILE.npz, .json, .jsonl or .csv nor [NAME=]FILE with a .npy, .png, .jpg, "
       ".bmp, .ppm or .pgm file",
       argument);
}

void resolve_outputs(std::vector<OutputFile>& files, const std::vector<FeatureInfo>& outputs) {
  for (OutputFile& file : files) {
    if (holds_all(file.path)) continue;
    const bool named = !file.name.empty();
    file.name = (named ? named_output(file, outputs) : only_output(file, outputs)).name;
  }
}

void write_outputs(const std::vector<OutputFile>& files, const PredictReport& report) {
  for (const OutputFile& file : files) {
    if (extension_of(file.path) == ".npz") {
      write_archive(file.path, report.outputs);
    } else if (extension_of(file.path) == ".json") {
      write_file(file.path, report_json(report, Elements::All));
    } else if (is_rows_name(file.path)) {
      write_file(file.path,
                 api::rows_text(rows_format(file.path), report.output_features, {report.outputs}));
    } else {
      const Tensor& tensor = std::get<Tensor>(report.outputs.at(file.name));
      if (!is_picture_name(file.path)) {
        write_file(file.path, npy_file(tensor));
        continue;
      }
      const auto feature =
          std::find_if(report.output_features.begin(), report.output_features.end(),
                       [&](const FeatureInfo& output) { return output.name == file.name; });
      write_picture(file.path, api::to_picture(*feature, tensor));
    }
  }
}

}  // namespace pippin::cli
