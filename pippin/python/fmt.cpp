// Compiles the library fmt into the module, because Debian has no static archive of it.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl<char>(locale_ref locale) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref locale) -> char;

}  // namespace fmt::detail
