#include "pippin/mil/networks/compressed_form.h"

#include "pippin/mil/networks/element_source.h"

namespace pippin::mil::networks {
namespace {

size_t width_of(const CompressedForm& form) {
  return form.bits == CompressedForm::kHalves ? 2 : 1;
}

// One value for each channel.
std::vector<float> of_channels(const std::vector<float>& groups, int64_t channels) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(channels));
  const int64_t each = channels / std::ssize(groups);
  for (int64_t i = 0; i < channels; ++i) values.push_back(groups[static_cast<size_t>(i / each)]);
  return values;
}

void append(std::vector<float>& values, const std::vector<float>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

// Whether the channels of the form are whole rows, the outermost axis.
bool has_rows(const CompressedForm& form) {
  return form.elements->size() / width_of(form) ==
         static_cast<uint64_t>(form.channels) * static_cast<uint64_t>(form.inner);
}

}  // namespace

std::optional<CompressedForm> joined_form(const std::vector<std::optional<CompressedForm>>& parts) {
  if (parts.empty() || !parts.front()) return std::nullopt;
  CompressedForm joined = *parts.front();
  const bool equal = std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
    return part && part->bits == joined.bits && part->is_signed == joined.is_signed &&
           part->is_linear() == joined.is_linear() && part->inner == joined.inner &&
           part->channels == joined.channels && part->groups() <= part->channels &&
           has_rows(*part) && (part->is_linear() || part->groups() == joined.groups());
  });
  if (!equal) return std::nullopt;
  const bool by_channel =
      std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part->groups() > 1; });
  std::vector<std::shared_ptr<const TensorSource>> elements;
  elements.reserve(parts.size());
  joined.table.clear();
  joined.scale.clear();
  joined.bias.clear();
  joined.channels = 0;
  for (const auto& part : parts) {
    elements.push_back(part->elements);
    append(joined.table, part->table);
    if (part->is_linear()) {
      const int64_t groups = by_channel ? part->channels : 1;
      append(joined.scale, of_channels(part->scale, groups));
      append(joined.bias, of_channels(part->bias, groups));
    }
    joined.channels += part->channels;
  }
  joined.elements = joined_elements(std::move(elements), width_of(joined));
  return joined;
}

std::optional<CompressedForm> transposed_form(CompressedForm form, int64_t rows, int64_t columns) {
  if (form.groups() > 1) {
    // The groups of rows become groups of columns.
    if (form.channels != rows || form.inner != columns) return std::nullopt;
    form.inner = 1;
  }
  form.elements = transposed_elements(std::move(form.elements), rows, columns, width_of(form));
  return form;
}

}  // namespace pippin::mil::networks
