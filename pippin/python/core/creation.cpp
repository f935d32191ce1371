#include <climits>

#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

PyObject* arange(const Args& args) {
  // One number is the end, two are the begin and the end.
  size_t first = 0;
  double start = 0, stop = 0;
  if (args.has(1)) {
    start = args.has(0) ? args.number(0) : 0;
    stop = args.number(1);
    first = args.has(0) ? 0 : 1;
  } else {
    if (!args.has(0) || args.num_positional() == 0) {
      throw py::type_error("arange() needs a number to stop at");
    }
    stop = args.number(0);
  }
  const double step = args.number(2, 1);
  const auto is_fraction = [&](size_t i) { return args.has(i) && PyFloat_Check(args.raw(i)) != 0; };
  const bool has_fraction = is_fraction(first) || is_fraction(1) || is_fraction(2);
  // The last number decides whether 32 bits suffice.
  const auto is_wide = [](double value) { return value > INT_MAX || value < INT_MIN; };
  const mx::Dtype dtype = has_fraction                             ? mx::float32
                          : is_wide(start) || is_wide(stop - step) ? mx::int64
                                                                   : mx::int32;
  return give(mx::arange(start, stop, step, args.dtype(3, dtype)));
}

// linspace without its endpoint has another step.
PyObject* linspace(const Args& args) {
  const double start = args.number(0), stop = args.number(1);
  const int num = args.small(2, 50);
  const bool has_end = args.flag(3, true);
  const double last = has_end || num <= 0 ? stop : stop - (stop - start) / num;
  return give(mx::linspace(start, last, num, args.dtype(4, mx::float32)));
}

template <mx::array (*function)(const mx::Shape&, mx::Dtype)>
PyObject* filled(const Args& args) {
  return give(function(args.shape(0), args.dtype(1, mx::float32)));
}
template <mx::array (*function)(const mx::Shape&, mx::Dtype)>
PyObject* filled_like(const Args& args) {
  const mx::array a = args.array(0);
  return give(function(a.shape(), args.dtype(1, a.dtype())));
}
template <mx::array (*function)(int)>
PyObject* window(const Args& args) {
  return give(function(args.small(0)));
}
template <mx::array (*function)(const mx::array&, int)>
PyObject* triangle(const Args& args) {
  return give(function(args.array(0), args.small(1, 0)));
}

// The fill value, converted to the requested type at once, so that no precision is lost before.
mx::array filler(const Args& args, std::optional<mx::Dtype> dtype) {
  if (auto found = try_array(args.raw(1), dtype)) return *std::move(found);
  return create(args.raw(1), dtype);
}

constexpr Definition kCreationFunctions[] = {
    {"arange", "start=None, stop=None, step=None, dtype=None", &arange},
    {"linspace", "start, stop, num=50, endpoint=True, dtype=None", &linspace},
    {"zeros", "shape, dtype=None", &filled<&mx::zeros>},
    {"ones", "shape, dtype=None", &filled<&mx::ones>},
    {"zeros_like", "a, /, dtype=None", &filled_like<&mx::zeros>},
    {"ones_like", "a, /, dtype=None", &filled_like<&mx::ones>},
    {"full", "shape, vals, dtype=None",
     [](const Args& args) {
       const mx::array value = filler(args, args.maybe_dtype(2));
       return give(mx::full(args.shape(0), value, args.dtype(2, value.dtype())));
     }},
    {"full_like", "a, vals, dtype=None",
     [](const Args& args) {
       const mx::array a = args.array(0);
       const mx::Dtype dtype = args.dtype(2, a.dtype());
       return give(mx::full_like(a, filler(args, dtype), dtype));
     }},
    {"eye", "n, m=None, k=0, dtype=None",
     [](const Args& args) {
       const int n = args.small(0);
       return give(mx::eye(n, args.small(1, n), args.small(2, 0), args.dtype(3, mx::float32)));
     }},
    {"identity", "n, dtype=None",
     [](const Args& args) {
       return give(mx::identity(args.small(0), args.dtype(1, mx::float32)));
     }},
    {"tri", "n, m=None, k=0, dtype=None",
     [](const Args& args) {
       const int n = args.small(0);
       return give(mx::tri(n, args.small(1, n), args.small(2, 0), args.dtype(3, mx::float32)));
     }},
    {"tril", "x, k=0", &triangle<&mx::tril>},
    {"triu", "x, k=0", &triangle<&mx::triu>},
    {"hanning", "M", &window<&mx::hanning>},
    {"hamming", "M", &window<&mx::hamming>},
    {"bartlett", "M", &window<&mx::bartlett>},
    {"blackman", "M", &window<&mx::blackman>},
    {"asarray", "a, dtype=None, *, copy=None",
     [](const Args& args) {
       const auto copy = args.has(2) ? std::optional(args.flag(2, false)) : std::nullopt;
       return give(as_array(args.raw(0), args.maybe_dtype(1), copy));
     }},
};

}  // namespace

void bind_creation(py::module_& module) {
  define(module, "pippin.core", kCreationFunctions);
  alias(module, "empty", "zeros");
  alias(module, "empty_like", "zeros_like");
}

}  // namespace pippin::python::core
