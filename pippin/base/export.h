// What the shared library shows to others: everything is hidden in it but what is marked.
//
// Classes are marked whole. Every function that a public header declares without a body belongs to
// one, or is marked itself (tests/install/check_symbols.py).
#pragma once

#define PIPPIN_API __attribute__((visibility("default")))
