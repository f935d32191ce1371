#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

constexpr const char* kOne = "a, /";
constexpr const char* kTwo = "a, b";

mx::array bitwise_not(const mx::array& a) {
  return a.dtype() == mx::bool_ ? mx::logical_not(a) : mx::bitwise_invert(a);
}

std::optional<float> maybe_float(const Args& args, size_t i) {
  return args.has(i) ? std::optional(static_cast<float>(args.number(i))) : std::nullopt;
}

constexpr Definition kElementwiseFunctions[] = {
    {"abs", kOne, &unary<&mx::abs>},
    {"arccos", kOne, &unary<&mx::arccos>},
    {"arccosh", kOne, &unary<&mx::arccosh>},
    {"arcsin", kOne, &unary<&mx::arcsin>},
    {"arcsinh", kOne, &unary<&mx::arcsinh>},
    {"arctan", kOne, &unary<&mx::arctan>},
    {"arctanh", kOne, &unary<&mx::arctanh>},
    {"bitwise_invert", "a", &unary<&bitwise_not>},
    {"ceil", kOne, &unary<&mx::ceil>},
    {"conj", "a", &unary<&mx::conjugate>},
    {"cos", kOne, &unary<&mx::cos>},
    {"cosh", kOne, &unary<&mx::cosh>},
    {"degrees", kOne, &unary<&mx::degrees>},
    {"erf", kOne, &unary<&mx::erf>},
    {"erfinv", kOne, &unary<&mx::erfinv>},
    {"exp", kOne, &unary<&mx::exp>},
    {"expm1", kOne, &unary<&mx::expm1>},
    {"floor", kOne, &unary<&mx::floor>},
    {"imag", kOne, &unary<&mx::imag>},
    {"isfinite", "a", &unary<&mx::isfinite>},
    {"isinf", "a", &unary<&mx::isinf>},
    {"isnan", "a", &unary<&mx::isnan>},
    {"isneginf", "a", &unary<&mx::isneginf>},
    {"isposinf", "a", &unary<&mx::isposinf>},
    {"log", kOne, &unary<&mx::log>},
    {"log10", kOne, &unary<&mx::log10>},
    {"log1p", kOne, &unary<&mx::log1p>},
    {"log2", kOne, &unary<&mx::log2>},
    {"logical_not", kOne, &unary<&mx::logical_not>},
    {"negative", kOne, &unary<&mx::negative>},
    {"positive", kOne, &unary<&mx::positive>},
    {"radians", kOne, &unary<&mx::radians>},
    {"real", kOne, &unary<&mx::real>},
    {"reciprocal", kOne, &unary<&mx::reciprocal>},
    {"rsqrt", kOne, &unary<&mx::rsqrt>},
    {"sigmoid", kOne, &unary<&mx::sigmoid>},
    {"sign", kOne, &unary<&mx::sign>},
    {"sin", kOne, &unary<&mx::sin>},
    {"sinh", kOne, &unary<&mx::sinh>},
    {"sqrt", kOne, &unary<&mx::sqrt>},
    {"square", kOne, &unary<&mx::square>},
    {"stop_gradient", kOne, &unary<&mx::stop_gradient>,
     "The array itself: derivatives are not computed."},
    {"tan", kOne, &unary<&mx::tan>},
    {"tanh", kOne, &unary<&mx::tanh>},
    {"trunc", kOne, &unary<&mx::trunc>},

    {"add", kTwo, &binary<&mx::add>},
    {"arctan2", kTwo, &binary<&mx::arctan2>},
    {"bitwise_and", kTwo, &binary<&mx::bitwise_and>},
    {"bitwise_or", kTwo, &binary<&mx::bitwise_or>},
    {"bitwise_xor", kTwo, &binary<&mx::bitwise_xor>},
    {"divide", kTwo, &binary<&mx::divide>},
    {"equal", kTwo, &binary<&mx::equal>},
    {"floor_divide", kTwo, &binary<&mx::floor_divide>},
    {"greater", kTwo, &binary<&mx::greater>},
    {"greater_equal", kTwo, &binary<&mx::greater_equal>},
    {"left_shift", kTwo, &binary<&mx::left_shift>},
    {"less", kTwo, &binary<&mx::less>},
    {"less_equal", kTwo, &binary<&mx::less_equal>},
    {"logaddexp", kTwo, &binary<&mx::logaddexp>},
    {"logical_and", kTwo, &binary<&mx::logical_and>},
    {"logical_or", kTwo, &binary<&mx::logical_or>},
    {"logical_xor", kTwo, &binary<&mx::logical_xor>},
    {"maximum", kTwo, &binary<&mx::maximum>},
    {"minimum", kTwo, &binary<&mx::minimum>},
    {"multiply", kTwo, &binary<&mx::multiply>},
    {"not_equal", kTwo, &binary<&mx::not_equal>},
    {"power", kTwo, &binary<&mx::power>},
    {"remainder", kTwo, &binary<&mx::remainder>},
    {"right_shift", kTwo, &binary<&mx::right_shift>},
    {"subtract", kTwo, &binary<&mx::subtract>},
    {"divmod", kTwo,
     [](const Args& args) {
       const auto [a, b] = args.operands(0, 1);
       return give_tuple(mx::divmod(a, b));
     }},

    {"where", "condition, x, y, /",
     [](const Args& args) {
       const auto [x, y] = args.operands(1, 2);
       return give(mx::where(args.array(0), x, y));
     }},
    {"clip", "a, /, a_min, a_max",
     [](const Args& args) {
       const mx::array a = args.array(0);
       if (!args.has(1) && !args.has(2)) {
         throw py::value_error("[clip] At least one of a_min and a_max has to be given.");
       }
       const auto limit = [&](size_t i) {
         return args.has(i) ? std::optional(args.operands(0, i).second) : std::nullopt;
       };
       return give(mx::clip(a, limit(1), limit(2)));
     }},
    {"nan_to_num", "a, nan=0, posinf=None, neginf=None",
     [](const Args& args) {
       return give(mx::nan_to_num(args.array(0), static_cast<float>(args.number(1, 0)),
                                  maybe_float(args, 2), maybe_float(args, 3)));
     }},
    {"round", "a, /, decimals=0",
     [](const Args& args) { return give(mx::round(args.array(0), args.small(1, 0))); }},
    {"isclose", "a, b, /, rtol=1e-05, atol=1e-08, *, equal_nan=False",
     [](const Args& args) {
       const auto [a, b] = args.operands(0, 1);
       return give(
           mx::isclose(a, b, args.number(2, 1e-5), args.number(3, 1e-8), args.flag(4, false)));
     }},
    {"allclose", "a, b, /, rtol=1e-05, atol=1e-08, *, equal_nan=False",
     [](const Args& args) {
       const auto [a, b] = args.operands(0, 1);
       return give(
           mx::allclose(a, b, args.number(2, 1e-5), args.number(3, 1e-8), args.flag(4, false)));
     }},
    {"array_equal", "a, b, equal_nan=False",
     [](const Args& args) {
       const auto [a, b] = args.operands(0, 1);
       return give(mx::array_equal(a, b, args.flag(2, false)));
     }},
    {"astype", "a, dtype, /",
     [](const Args& args) { return give(mx::astype(args.array(0), args.dtype(1))); }},
    {"view", "a, dtype",
     [](const Args& args) { return give(mx::view(args.array(0), args.dtype(1))); }},
};

}  // namespace

void bind_elementwise(py::module_& module) {
  define(module, "pippin.core", kElementwiseFunctions);
  for (const auto& [name, of] : {std::pair{"conjugate", "conj"},
                                 {"acos", "arccos"},
                                 {"acosh", "arccosh"},
                                 {"asin", "arcsin"},
                                 {"asinh", "arcsinh"},
                                 {"atan", "arctan"},
                                 {"atanh", "arctanh"},
                                 {"atan2", "arctan2"},
                                 {"pow", "power"},
                                 {"bitwise_not", "bitwise_invert"},
                                 {"bitwise_left_shift", "left_shift"},
                                 {"bitwise_right_shift", "right_shift"}}) {
    alias(module, name, of);
  }
}

}  // namespace pippin::python::core
