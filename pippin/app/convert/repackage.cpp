#include "pippin/app/convert/repackage.h"

#include <algorithm>
#include <chrono>

#include "pippin/app/convert/package_output.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {
namespace {

// Removes functions that are not named. Throws NotFound for names that the model does not have.
void keep_functions(mil::Model& model, const std::vector<std::string>& names) {
  for (const std::string& name : names) model.description(name);
  std::erase_if(model.functions, [&](const mil::FunctionDescription& function) {
    return std::find(names.begin(), names.end(), function.name) == names.end();
  });
  std::erase_if(model.program.functions, [&](const auto& function) {
    return std::find(names.begin(), names.end(), function.first) == names.end();
  });
  const auto is_default = [&](const std::string& name) { return name == model.default_function; };
  if (std::none_of(names.begin(), names.end(), is_default)) model.default_function = names.front();
}

}  // namespace

RepackageResult repackage(const std::filesystem::path& source, const std::filesystem::path& output,
                          const std::vector<std::string>& functions,
                          const std::function<void(uint64_t, uint64_t)>& progress,
                          const std::function<void(mil::Model& model)>& change) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  mil::Model model = read_to_rewrite(source);
  if (!functions.empty()) keep_functions(model, functions);
  if (change) change(model);
  RepackageResult result;
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = [&](uint64_t done, uint64_t total) {
    result.weights = total;
    if (progress) progress(done, total);
  };
  static_cast<PackageOutput&>(result) = write_output(model, output, write, start);
  return result;
}

}  // namespace pippin::app
