// Surviving fork(2): a child has a copy of its parent's memory, but only the thread that forked.
//
// Locks that other threads held are free in the child (ForkMutex), threads are started again when
// they are needed (Thread, ThreadPool, Worker), and objects that another thread modifies pause
// before the fork (ForkRest).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "pippin/base/export.h"

namespace pippin {

// How many forks lie between this process and the first one; differs between parent and child.
PIPPIN_API uint32_t fork_count() noexcept;

// A mutex that is free in a child even if another thread of the parent held it. Not recursive.
class PIPPIN_API ForkMutex {
 public:
  ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

  // To be called once by the holder of the lock: whether a thread that does not exist in this
  // process held it, so that what it protects may be half modified.
  bool take_abandoned() noexcept;

 private:
  static uint32_t held() noexcept;
  bool take(uint32_t seen) noexcept;

  std::atomic<uint32_t> state_{0};  // 0: free; else 1 + the fork count of the process that holds it
  bool abandoned_ = false;
};

// A value that one thread at a time uses. If another thread of the parent was using it during a
// fork, the child gets a new one: better lost than half modified.
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
  // Exclusive access, for as long as the result lives.
  Access access() { return Access(*this); }

 private:
  ForkMutex mutex_;
  T value_;
};

// A fair lock: waiting threads get it in the order of their arrival, so that a thread that takes it
// repeatedly does not starve the others. It is free in a child.
class PIPPIN_API TurnLock {
 public:
  TurnLock() = default;
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  void lock() noexcept;
  // As lock(); throws Cancelled if the current call (base/cancel.h) is cancelled while it waits.
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

// An object that another thread modifies and that must be consistent in a child.
class PIPPIN_API ForkRest {
 public:
  ForkRest();
  ForkRest(const ForkRest&) = delete;
  ForkRest& operator=(const ForkRest&) = delete;

 protected:
  ~ForkRest();
  // To be called first in the destructor of the implementation: forks no longer call the two below.
  void leave_forks() noexcept;

 private:
  friend class ForkHandlers;
  virtual void before_fork() noexcept = 0;  // pauses; returns when nothing is being modified
  virtual void after_fork() noexcept = 0;   // resumes, in parent and child
};

}  // namespace pippin
