#include "pippin/app/read_program.h"

#include <algorithm>

#include "pippin/base/mapped_file.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"

namespace pippin::app {
namespace {

using Write = std::function<void(const std::string& text)>;

void write_titled(const mil::Model& model, const std::string& title, bool values,
                  const Write& write) {
  if (!model.is_pipeline()) {
    if (!title.empty()) write("// " + title + "\n");
    return write(mil::print(model.program, {.values = values}));
  }
  for (size_t i = 0; i < model.stages.size(); ++i) {
    std::string name = (title.empty() ? "" : title + ", ") + stage_name(model, i);
    std::replace(name.begin(), name.end(), '\n', ' ');
    write_titled(model.stages[i].model, name, values, write);
  }
}

}  // namespace

mil::Model read_program(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path) || path.extension() != ".mil") {
    return mil::read_package(path);
  }
  const auto file = MappedFile::open(path);
  mil::Program program = mil::parse_text(as_text(file->bytes()), path.filename().string());
  mil::verify(program);
  mil::Model model = mil::describe_program(std::move(program));
  model.path = path;
  return model;
}

void write_programs(const mil::Model& model, bool values, const Write& write) {
  write_titled(model, "", values, write);
}

}  // namespace pippin::app
