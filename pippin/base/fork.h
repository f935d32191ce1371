// What it takes to go on after fork(2): the child has the memory of all of its parent's threads and
// only one thread, the one that forked.
//
// Locks that the others held are free in the child (ForkMutex), threads are started again when they
// are needed (Thread, ThreadPool, Worker), and who changes something on a thread of its own comes
// to rest before the fork (ForkRest).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "pippin/base/export.h"

namespace pippin {

// How many forks of processes lie behind this one: another number in a child than in its parent.
PIPPIN_API uint32_t fork_count() noexcept;

// A mutex that is free in a child where another thread of the parent held it. Not recursive.
class PIPPIN_API ForkMutex {
 public:
  ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

  // For whoever has the lock, once: whether a thread that is not in this process held it, so that
  // what it protects may be half changed.
  bool take_abandoned() noexcept;

 private:
  static uint32_t held() noexcept;
  bool take(uint32_t seen) noexcept;

  std::atomic<uint32_t> state_{0};  // 0: free; else 1 + the fork count of the process that holds it
  bool abandoned_ = false;
};

// A value that one thread at a time uses. In a child it is a new one where another thread of the
// parent was at it: better forgotten than half changed.
template <typename T>
class ForkGuarded {
 public:
  class Access {
   public:
    explicit Access(ForkGuarded& of) : lock_(of.mutex_), value_(of.value_) {
      if (of.mutex_.take_abandoned()) new (&value_) T();  // the old one may not even be destroyed
    }
    T* operator->() const { return &value_; }
    T& operator*() const { return value_; }

   private:
    std::unique_lock<ForkMutex> lock_;
    T& value_;
  };
  // Nobody else has the value until the result goes.
  Access access() { return Access(*this); }

 private:
  ForkMutex mutex_;
  T value_;
};

// Gives a lock to those who wait in the order in which they came, so that nobody who takes it again
// and again keeps the others out. In a child it is free.
class PIPPIN_API TurnLock {
 public:
  TurnLock() = default;
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  void lock() noexcept;
  // As lock(); throws Cancelled where the call at hand (base/cancel.h) is cancelled while it waits.
  void lock_unless_cancelled();
  void unlock() noexcept;

 private:
  struct Waiter;
  bool take_or_wait(Waiter& waiter) noexcept;
  bool leave(const Waiter& waiter) noexcept;
  void forget_parent() noexcept;

  ForkMutex mutex_;       // of the rest
  uint32_t process_ = 0;  // whose lock this is, by its fork count
  bool is_taken_ = false;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

// Something that another thread changes and that must be whole in a child.
class PIPPIN_API ForkRest {
 public:
  ForkRest();
  ForkRest(const ForkRest&) = delete;
  ForkRest& operator=(const ForkRest&) = delete;

 protected:
  ~ForkRest();
  // To be called first of all in the destructor of whoever implements the two below: no fork calls
  // them from then on.
  void leave_forks() noexcept;

 private:
  friend class ForkHandlers;
  virtual void before_fork() noexcept = 0;  // returns when nothing changes, and keeps it so until
  virtual void after_fork() noexcept = 0;   // this, in parent and child
};

}  // namespace pippin
