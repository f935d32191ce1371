#include "pippin/api/rows.h"

#include <fmt/format.h>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

std::string predict_rows(const Function& function, std::string_view text) {
  const std::vector<Values> rows =
      api::parse_rows(text, api::RowsFormat::Json, "rows", function.inputs());
  std::vector<Values> results;
  results.reserve(rows.size());
  for (const Values& row : rows) {
    check_cancel();
    with_context(fmt::format("row {}", results.size()),
                 [&] { results.push_back(function.predict(row)); });
  }
  const bool is_list = text.find_first_not_of(" \t\r\n") == text.find('[');
  return is_list ? api::rows_text(api::RowsFormat::Json, function.outputs(), results)
                 : api::row_text(function.outputs(), results.front());
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;

pippin_code pippin_function_predict_rows(const pippin_function* function, const char* rows,
                                         const pippin_cancel* cancel, char** results,
                                         pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(results, "results") = nullptr;
    const c::CancelBy scope(cancel);
    const std::string text =
        c::predict_rows(*c::needed(function, "function").function, c::needed_text(rows, "rows"));
    *results = c::copy_out(std::span<const char>(text));
  });
}
