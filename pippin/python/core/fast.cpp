#include "pippin/mx/ops/fast.h"

#include <string>

#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;
namespace fast = mx::fast;

namespace {

PyObject* rope(const Args& args) {
  const mx::array x = args.array(0);
  const auto base = args.has(3) ? std::optional(static_cast<float>(args.number(3))) : std::nullopt;
  const auto scale = static_cast<float>(args.number(4));
  const int dims = args.small(1);
  const bool is_traditional = args.flag(2, false);
  const auto freqs = args.maybe_array(6);
  if (PyLong_Check(args.raw(5)) != 0) {
    return give(fast::rope(x, dims, is_traditional, base, scale, args.small(5), freqs));
  }
  return give(fast::rope(x, dims, is_traditional, base, scale, args.array(5), freqs));
}

PyObject* attention(const Args& args) {
  std::string mode;
  std::optional<mx::array> mask;
  if (args.has(4)) {
    if (PyUnicode_Check(args.raw(4)) != 0) {
      mode = args.text(4, "");
      if (mode != "causal") {
        throw py::value_error(
            "[scaled_dot_product_attention] A mask is \"causal\" or an array, "
            "not \"" +
            mode + "\".");
      }
    } else {
      mode = "array";
      mask = args.array(4);
    }
  }
  return give(fast::scaled_dot_product_attention(args.array(0), args.array(1), args.array(2),
                                                 static_cast<float>(args.number(3)), mode, mask,
                                                 args.maybe_array(5)));
}

constexpr Definition kFastFunctions[] = {
    {"rms_norm", "x, weight, eps",
     [](const Args& args) {
       return give(
           fast::rms_norm(args.array(0), args.maybe_array(1), static_cast<float>(args.number(2))));
     }},
    {"layer_norm", "x, weight, bias, eps",
     [](const Args& args) {
       return give(fast::layer_norm(args.array(0), args.maybe_array(1), args.maybe_array(2),
                                    static_cast<float>(args.number(3))));
     }},
    {"rope", "a, dims, *, traditional, base, scale, offset, freqs=None", &rope},
    {"scaled_dot_product_attention", "q, k, v, *, scale, mask=None, sinks=None, force_fused=False",
     &attention},
};

}  // namespace

void bind_fast(py::module_& module) {
  py::module_ own = module.def_submodule("fast", "Building blocks of models as single operations.");
  define(own, "pippin.core.fast", kFastFunctions);
}

}  // namespace pippin::python::core
