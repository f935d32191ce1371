// Operators between arrays and numbers.
#include <optional>
#include <string>

#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using Binary = mx::array (*)(const mx::array&, const mx::array&);

// Throws for objects that are not operands, even if Python would try the other object's operators:
// lists and strings would repeat or concatenate.
[[noreturn]] void refuse_operand(PyObject* other, const char* what) {
  throw py::value_error("Cannot " + std::string(what) + " an array and " +
                        (other == Py_None ? "None" : "a " + std::string(Py_TYPE(other)->tp_name)));
}

std::optional<mx::array> operand(PyObject* object, PyObject* other) {
  if (is_array(object)) return value_of(object);
  return try_array(object, value_of(other).dtype());
}

// At least one of the operands is an array.
mx::array compute(PyObject* left, PyObject* right, Binary function, const char* what) {
  if (is_array(left) && is_array(right)) return function(value_of(left), value_of(right));
  const auto a = operand(left, is_array(left) ? left : right);
  if (!a) refuse_operand(left, what);
  const auto b = operand(right, is_array(left) ? left : right);
  if (!b) refuse_operand(right, what);
  return function(*a, *b);
}

struct Operator {
  Binary function;
  const char* what;
};
constexpr Operator kAdd{&mx::add, "add"}, kSubtract{&mx::subtract, "subtract"},
    kMultiply{&mx::multiply, "multiply"}, kDivide{&mx::divide, "divide"},
    kFloorDivide{&mx::floor_divide, "floor-divide"}, kRemainder{&mx::remainder, "divide"},
    kPower{&mx::power, "raise"}, kAnd{&mx::bitwise_and, "join"}, kOr{&mx::bitwise_or, "join"},
    kXor{&mx::bitwise_xor, "join"}, kLeft{&mx::left_shift, "shift"},
    kRight{&mx::right_shift, "shift"}, kProduct{&mx::matmul, "multiply"};

template <const Operator& op>
PyObject* apply(PyObject* left, PyObject* right) noexcept {
  return guarded([&] { return give(compute(left, right, op.function, op.what)); });
}

// x += y changes the object's value, for all its holders.
template <const Operator& op>
PyObject* apply_in_place(PyObject* self, PyObject* other) noexcept {
  return guarded([&] {
    if (&op == &kDivide && !mx::is_inexact(value_of(self).dtype())) {
      throw py::value_error("In-place division cannot be performed on an integral array.");
    }
    const mx::array result = compute(self, other, op.function, op.what);
    value_of(self).overwrite(result);
    Py_INCREF(self);
    return self;
  });
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return apply<kPower>(left, right);
}
PyObject* power_in_place(PyObject* self, PyObject* other, PyObject*) noexcept {
  return apply_in_place<kPower>(self, other);
}

// Implements the conversions to Python numbers.
template <typename Convert>
PyObject* as_number(PyObject* self, Convert convert) noexcept {
  return guarded([&] {
    const py::object number = to_number(value_of(self));
    return convert(number.ptr());
  });
}

mx::array invert(const mx::array& a) {
  if (mx::is_inexact(a.dtype())) {
    throw py::value_error("Floating-point arrays cannot be inverted bit by bit");
  }
  return a.dtype() == mx::bool_ ? mx::logical_not(a) : mx::bitwise_invert(a);
}

template <mx::array (*function)(const mx::array&)>
PyObject* apply_to_one(PyObject* self) noexcept {
  return guarded([&] { return give(function(value_of(self))); });
}

int truth(PyObject* self) noexcept {
  int result = -1;
  guarded_status([&] {
    const py::object number = to_number(value_of(self));
    result = PyObject_IsTrue(number.ptr());
  });
  return result;
}

PyObject* compare(PyObject* self, PyObject* other, int how) noexcept {
  return guarded([&]() -> PyObject* {
    constexpr Binary kComparisons[] = {&mx::less,      &mx::less_equal, &mx::equal,
                                       &mx::not_equal, &mx::greater,    &mx::greater_equal};
    const auto b = operand(other, self);
    if (!b) {
      // Other objects are never equal to an array.
      if (how == Py_EQ) Py_RETURN_FALSE;
      if (how == Py_NE) Py_RETURN_TRUE;
      refuse_operand(other, "compare");
    }
    return give(kComparisons[how](value_of(self), *b));
  });
}

// Arrays compare element by element, which dictionaries cannot use: the hash is the object's
// identity.
Py_hash_t hash(PyObject* self) noexcept {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

template <typename Function>
void* slot(Function function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void add_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot mine[] = {
      {Py_nb_add, slot(&apply<kAdd>)},
      {Py_nb_subtract, slot(&apply<kSubtract>)},
      {Py_nb_multiply, slot(&apply<kMultiply>)},
      {Py_nb_true_divide, slot(&apply<kDivide>)},
      {Py_nb_floor_divide, slot(&apply<kFloorDivide>)},
      {Py_nb_remainder, slot(&apply<kRemainder>)},
      {Py_nb_power, slot(&power)},
      {Py_nb_and, slot(&apply<kAnd>)},
      {Py_nb_or, slot(&apply<kOr>)},
      {Py_nb_xor, slot(&apply<kXor>)},
      {Py_nb_lshift, slot(&apply<kLeft>)},
      {Py_nb_rshift, slot(&apply<kRight>)},
      {Py_nb_matrix_multiply, slot(&apply<kProduct>)},
      {Py_nb_inplace_add, slot(&apply_in_place<kAdd>)},
      {Py_nb_inplace_subtract, slot(&apply_in_place<kSubtract>)},
      {Py_nb_inplace_multiply, slot(&apply_in_place<kMultiply>)},
      {Py_nb_inplace_true_divide, slot(&apply_in_place<kDivide>)},
      {Py_nb_inplace_floor_divide, slot(&apply_in_place<kFloorDivide>)},
      {Py_nb_inplace_remainder, slot(&apply_in_place<kRemainder>)},
      {Py_nb_inplace_power, slot(&power_in_place)},
      {Py_nb_inplace_and, slot(&apply_in_place<kAnd>)},
      {Py_nb_inplace_or, slot(&apply_in_place<kOr>)},
      {Py_nb_inplace_xor, slot(&apply_in_place<kXor>)},
      {Py_nb_inplace_lshift, slot(&apply_in_place<kLeft>)},
      {Py_nb_inplace_rshift, slot(&apply_in_place<kRight>)},
      {Py_nb_inplace_matrix_multiply, slot(&apply_in_place<kProduct>)},
      {Py_nb_negative, slot(&apply_to_one<&mx::negative>)},
      {Py_nb_absolute, slot(&apply_to_one<&mx::abs>)},
      {Py_nb_invert, slot(&apply_to_one<&invert>)},
      {Py_nb_bool, slot(&truth)},
      {Py_nb_int, slot(+[](PyObject* self) noexcept { return as_number(self, &PyNumber_Long); })},
      {Py_nb_float,
       slot(+[](PyObject* self) noexcept { return as_number(self, &PyNumber_Float); })},
      {Py_tp_richcompare, slot(&compare)},
      {Py_tp_hash, slot(&hash)},
  };
  slots.insert(slots.end(), std::begin(mine), std::end(mine));
}

}  // namespace pippin::python::core
