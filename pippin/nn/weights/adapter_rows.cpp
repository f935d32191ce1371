#include "pippin/nn/weights/adapter_rows.h"

#include "pippin/base/error.h"

namespace pippin::nn {

AdapterRows adapter_rows(const LoraAdapter& adapter, std::string_view module,
                         const WeightLayout& layout, int64_t used) {
  const auto rows = [&](int64_t stored, const std::vector<int64_t>& taken) {
    return AdapterRows{stored > 0 ? stored : used, taken};
  };
  if (!adapter.is_of_other_form() || !layout.other_form) {
    return rows(layout.stored_rows, layout.rows);
  }
  if (!layout.other_form->is_known) {
    fail(ErrorCode::Unsupported,
         "{}: '{}' is in another order in the model's file than in the adapter's: use the adapter "
         "in the form of the model, Hugging Face's or GGUF",
         adapter.path().string(), module);
  }
  return rows(layout.other_form->stored_rows, layout.other_form->rows);
}

}  // namespace pippin::nn
