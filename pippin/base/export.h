// What the shared library exports: only symbols that are marked.
//
// Classes are marked whole. Every function that a public header declares without a body belongs to
// one, or is marked itself (tests/install/check_symbols.py).
#pragma once

#define PIPPIN_API __attribute__((visibility("default")))
