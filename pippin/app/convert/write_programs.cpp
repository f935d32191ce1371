#include "pippin/app/convert/write_programs.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/mil/text/text.h"

namespace pippin::app {
namespace {

using Write = std::function<void(const std::string& text)>;

void write_titled(const mil::Model& model, const std::string& title, bool values,
                  const Write& write) {
  if (!model.is_pipeline()) {
    if (!title.empty()) write("// " + title + "\n");
    if (model.is_tabular()) {
      return write(fmt::format("// a {}, which has no program\n", to_string(model.kind)));
    }
    return write(mil::print(model.program, {.values = values}));
  }
  for (size_t i = 0; i < model.stages.size(); ++i) {
    std::string name = (title.empty() ? "" : title + ", ") + stage_name(model, i);
    std::replace(name.begin(), name.end(), '\n', ' ');
    write_titled(model.stages[i].model, name, values, write);
  }
}

}  // namespace

void write_programs(const mil::Model& model, bool values, const Write& write) {
  write_titled(model, "", values, write);
}

}  // namespace pippin::app
