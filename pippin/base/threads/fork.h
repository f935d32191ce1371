// Support for fork(2): a child has a copy of its parent's memory, but only the forking thread.
//
// Locks held by other threads are free in the child (ForkMutex), threads are restarted on demand
// (Thread, ThreadPool, Worker), and objects that another thread modifies pause before the fork
// (ForkRest).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "pippin/base/export.h"

namespace pippin {

// Returns the number of forks between this process and the first one; differs between parent and
// child.
PIPPIN_API uint32_t fork_count() noexcept;

// A non-recursive mutex that is free in a child even if another thread of the parent held it.
class PIPPIN_API ForkMutex {
 public:
  ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  // Waits for the lock.
  void lock() noexcept;
  // Takes the lock if it is free; returns whether it was.
  bool try_lock() noexcept;
  // Releases the lock.
  void unlock() noexcept;

  // Call once, by the lock's holder. Returns whether a thread that does not exist in this process
  // held the lock, in which case the protected data may be half modified.
  bool take_abandoned() noexcept;

 private:
  static uint32_t held() noexcept;
  bool take(uint32_t seen) noexcept;

  std::atomic<uint32_t> state_{0};  // 0: free; else 1 + the fork count of the holder's process
  bool abandoned_ = false;
};

// A value that one thread at a time uses. If another thread of the parent was using it during a
// fork, the child gets a new value, because the old one may be half modified.
template <typename T>
class ForkGuarded {
 public:
  // The value and its lock.
  class Access {
   public:
    // Waits for the lock; replaces a value that was abandoned by a fork.
    explicit Access(ForkGuarded& of) : lock_(of.mutex_), value_(of.value_) {
      if (of.mutex_.take_abandoned()) new (&value_) T();  // not destroyed: it may be invalid
    }
    // The value:
    T* operator->() const { return &value_; }
    T& operator*() const { return value_; }

   private:
    std::unique_lock<ForkMutex> lock_;
    T& value_;
  };
  // Returns exclusive access, for the lifetime of the result.
  Access access() { return Access(*this); }

 private:
  ForkMutex mutex_;
  T value_;
};

// A fair lock: waiting threads get it in order of arrival, so that a thread that takes it
// repeatedly does not starve the others. It is free in a child.
class PIPPIN_API TurnLock {
 public:
  TurnLock() = default;
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  // Waits for the lock.
  void lock() noexcept;
  // Like lock(), but throws Cancelled if the current call (base/threads/cancel.h) is cancelled
  // during the wait.
  void lock_unless_cancelled();
  // Releases the lock to the thread that has waited longest.
  void unlock() noexcept;

 private:
  struct Waiter;
  bool take_or_wait(Waiter& waiter) noexcept;
  bool leave(const Waiter& waiter) noexcept;
  void forget_parent() noexcept;

  ForkMutex mutex_;       // guards the members below
  uint32_t process_ = 0;  // fork count of the lock's process
  bool is_taken_ = false;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

// An object that another thread modifies and that must be consistent in a child.
class PIPPIN_API ForkRest {
 public:
  // Registers the object for forks.
  ForkRest();
  ForkRest(const ForkRest&) = delete;
  ForkRest& operator=(const ForkRest&) = delete;

 protected:
  ~ForkRest();
  // Call first in the destructor of the implementation: forks then no longer call the functions
  // below.
  void leave_forks() noexcept;

 private:
  friend class ForkHandlers;
  virtual void before_fork() noexcept = 0;  // pauses; returns when nothing is being modified
  virtual void after_fork() noexcept = 0;   // resumes, in parent and child
};

}  // namespace pippin
