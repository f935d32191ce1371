// Ctrl-C: a flag that a signal handler may set and that long work polls.
#pragma once

namespace pippin {

// Safe to call from a signal handler.
void request_cancel() noexcept;
void reset_cancel() noexcept;
bool cancel_requested() noexcept;

// Throws Error(Cancelled) if cancel_requested().
void check_cancel();

}  // namespace pippin
