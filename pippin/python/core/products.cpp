#include <string>

#include "pippin/mx/ops/conv.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/quantized.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

constexpr const char* kTwo = "a, b, /";

PyObject* tensordot(const Args& args) {
  const mx::array a = args.array(0), b = args.array(1);
  if (!args.has(2) || PyIndex_Check(args.raw(2)) != 0) {
    return give(mx::tensordot(a, b, args.small(2, 2)));
  }
  const py::object axes = py::reinterpret_borrow<py::object>(args.raw(2));
  if (!py::isinstance<py::sequence>(axes) || py::len(axes) != 2) {
    throw py::value_error("[tensordot] Axes are a number or two lists of numbers.");
  }
  const auto list = [&](size_t i) {
    const py::object item = axes[py::int_(i)];
    PyObject* const values[] = {args.raw(0), args.raw(1), item.ptr()};
    return args.of(values).smalls(2);
  };
  return give(mx::tensordot(a, b, list(0), list(1)));
}

std::vector<mx::array> operands(const Args& args) {
  std::vector<mx::array> result;
  for (PyObject* const each : args.rest()) {
    auto found = try_array(each, std::nullopt);
    if (!found) throw py::type_error("einsum() needs arrays behind the subscripts");
    result.push_back(*std::move(found));
  }
  return result;
}

// The default group size and bits of a mode.
struct Form {
  int group_size, bits;
  std::string mode;
};
Form form_of(const Args& args, size_t group_size, size_t bits, size_t mode) {
  const std::string name = args.text(mode, "affine");
  const bool is_affine = name == "affine";
  return {args.small(group_size, is_affine         ? 64
                                 : name == "nvfp4" ? 16
                                                   : 32),
          args.small(bits, name == "mxfp8" ? 8 : 4), name};
}

constexpr Definition kProducts[] = {
    {"matmul", kTwo,
     [](const Args& args) {
       const mx::array a = args.array(0), b = args.array(1);
       return give(mx::matmul(a, b));
     }},
    {"inner", kTwo, [](const Args& args) { return give(mx::inner(args.array(0), args.array(1))); }},
    {"outer", kTwo, [](const Args& args) { return give(mx::outer(args.array(0), args.array(1))); }},
    {"kron", "a, b", [](const Args& args) { return give(mx::kron(args.array(0), args.array(1))); }},
    {"vecdot", "a, b, /, *, axis=-1",
     [](const Args& args) {
       return give(mx::vecdot(args.array(0), args.array(1), args.small(2, -1)));
     }},
    {"tensordot", "a, b, /, axes=2", &tensordot},
    {"einsum", "subscripts, *operands",
     [](const Args& args) { return give(mx::einsum(args.text(0, ""), operands(args))); }},
    {"einsum_path", "subscripts, *operands",
     [](const Args& args) {
       const auto [path, text] = mx::einsum_path(args.text(0, ""), operands(args));
       py::list steps;
       for (const auto& step : path) {
         py::tuple places(step.size());
         for (size_t i = 0; i < step.size(); ++i) places[i] = step[i];
         steps.append(places);
       }
       return py::make_tuple(steps, text).release().ptr();
     }},
    {"addmm", "c, a, b, /, alpha=1.0, beta=1.0",
     [](const Args& args) {
       return give(mx::addmm(args.array(0), args.array(1), args.array(2),
                             static_cast<float>(args.number(3, 1)),
                             static_cast<float>(args.number(4, 1))));
     }},
    {"gather_mm", "a, b, /, lhs_indices=None, rhs_indices=None, *, sorted_indices=False",
     [](const Args& args) {
       return give(mx::gather_mm(args.array(0), args.array(1), args.maybe_array(2),
                                 args.maybe_array(3), args.flag(4, false)));
     }},
    {"block_masked_mm", "a, b, /, block_size=64, mask_out=None, mask_lhs=None, mask_rhs=None",
     [](const Args& args) {
       return give(mx::block_masked_mm(args.array(0), args.array(1), args.small(2, 64),
                                       args.maybe_array(3), args.maybe_array(4),
                                       args.maybe_array(5)));
     }},
    {"segmented_mm", "a, b, /, segments",
     [](const Args& args) {
       return give(mx::segmented_mm(args.array(0), args.array(1), args.array(2)));
     }},
    {"hadamard_transform", "a, scale=None",
     [](const Args& args) {
       return give(mx::hadamard_transform(
           args.array(0),
           args.has(1) ? std::optional(static_cast<float>(args.number(1))) : std::nullopt));
     }},
};

constexpr Definition kQuantized[] = {
    {"quantize", "w, /, group_size=None, bits=None, mode='affine', *, global_scale=None",
     [](const Args& args) {
       const Form form = form_of(args, 1, 2, 3);
       return give_tuple(mx::quantize(args.array(0), form.group_size, form.bits, form.mode));
     }},
    {"dequantize",
     "w, /, scales, biases=None, group_size=None, bits=None, mode='affine', global_scale=None, "
     "dtype=None",
     [](const Args& args) {
       const Form form = form_of(args, 3, 4, 5);
       return give(mx::dequantize(args.array(0), args.array(1), args.maybe_array(2),
                                  form.group_size, form.bits, form.mode, args.maybe_dtype(7)));
     }},
    {"quantized_matmul",
     "x, w, /, scales, biases=None, transpose=True, group_size=None, bits=None, mode='affine'",
     [](const Args& args) {
       const Form form = form_of(args, 5, 6, 7);
       return give(mx::quantized_matmul(args.array(0), args.array(1), args.array(2),
                                        args.maybe_array(3), args.flag(4, true), form.group_size,
                                        form.bits, form.mode));
     }},
    {"gather_qmm",
     "x, w, /, scales, biases=None, lhs_indices=None, rhs_indices=None, transpose=True, "
     "group_size=None, bits=None, mode='affine', *, sorted_indices=False",
     [](const Args& args) {
       const Form form = form_of(args, 7, 8, 9);
       return give(mx::gather_qmm(args.array(0), args.array(1), args.array(2), args.maybe_array(3),
                                  args.maybe_array(4), args.maybe_array(5), args.flag(6, true),
                                  form.group_size, form.bits, form.mode, args.flag(10, false)));
     }},
};

// One number per spatial axis, from one number or several.
std::vector<int> per_axis(const Args& args, size_t i, int otherwise, size_t rank) {
  std::vector<int> result = args.smalls(i, {otherwise});
  if (result.size() == 1) result.resize(rank, result[0]);
  if (result.size() != rank) args.refuse(i, "an integer, or one for each spatial axis");
  return result;
}

void check_rank(const mx::array& input, size_t rank) {
  if (input.ndim() == rank + 2) return;
  throw py::value_error("[conv] A convolution over " + std::to_string(rank) +
                        " axes takes an input of " + std::to_string(rank + 2) +
                        " dimensions, not one of shape " + mx::to_string(input.shape()) + ".");
}

template <size_t rank>
PyObject* conv(const Args& args) {
  const mx::array input = args.array(0);
  check_rank(input, rank);
  return give(mx::conv(input, args.array(1), per_axis(args, 2, 1, rank), per_axis(args, 3, 0, rank),
                       per_axis(args, 4, 1, rank), args.small(5, 1)));
}
template <size_t rank>
PyObject* conv_transpose(const Args& args) {
  const mx::array input = args.array(0);
  check_rank(input, rank);
  return give(mx::conv_transpose(input, args.array(1), per_axis(args, 2, 1, rank),
                                 per_axis(args, 3, 0, rank), per_axis(args, 4, 1, rank),
                                 per_axis(args, 5, 0, rank), args.small(6, 1)));
}

PyObject* conv_general(const Args& args) {
  const mx::array input = args.array(0);
  if (input.ndim() < 3) throw py::value_error("[conv] The input has no spatial axes.");
  const size_t rank = input.ndim() - 2;
  mx::ConvOptions options;
  options.stride = per_axis(args, 2, 1, rank);
  // Padding can be two lists: before and after.
  const py::handle padding = args.raw(3);
  const bool is_pair = padding && py::isinstance<py::sequence>(padding) && py::len(padding) == 2 &&
                       PyIndex_Check(py::object(padding[py::int_(0)]).ptr()) == 0;
  if (is_pair) {
    const auto side = [&](int i) {
      const py::object item = padding[py::int_(i)];
      PyObject* const values[] = {args.raw(0), args.raw(1), args.raw(2), item.ptr()};
      return per_axis(args.of(values), 3, 0, rank);
    };
    options.padding_low = side(0);
    options.padding_high = side(1);
  } else {
    options.padding_low = options.padding_high = per_axis(args, 3, 0, rank);
  }
  options.kernel_dilation = per_axis(args, 4, 1, rank);
  options.input_dilation = per_axis(args, 5, 1, rank);
  options.groups = args.small(6, 1);
  options.flip = args.flag(7, false);
  return give(mx::conv_general(input, args.array(1), options));
}

constexpr const char* kConv = "input, weight, /, stride=1, padding=0, dilation=1, groups=1";
constexpr const char* kConvTranspose =
    "input, weight, /, stride=1, padding=0, dilation=1, output_padding=0, groups=1";

constexpr Definition kConvolutions[] = {
    {"conv1d", kConv, &conv<1>},
    {"conv2d", kConv, &conv<2>},
    {"conv3d", kConv, &conv<3>},
    {"conv_transpose1d", kConvTranspose, &conv_transpose<1>},
    {"conv_transpose2d", kConvTranspose, &conv_transpose<2>},
    {"conv_transpose3d", kConvTranspose, &conv_transpose<3>},
    {"conv_general",
     "input, weight, /, stride=1, padding=0, kernel_dilation=1, input_dilation=1, groups=1, "
     "flip=False",
     &conv_general},
    {"convolve", "a, v, /, mode='full'",
     [](const Args& args) {
       return give(mx::convolve(args.array(0), args.array(1), args.text(2, "full")));
     }},
};

}  // namespace

void bind_products(py::module_& module) {
  define(module, "pippin.core", kProducts);
  define(module, "pippin.core", kQuantized);
  define(module, "pippin.core", kConvolutions);
}

}  // namespace pippin::python::core
