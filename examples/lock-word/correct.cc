// A spin lock that lives in persistent memory, beside the counter it protects.
//
// A lock is about threads, and threads do not survive a power failure: whoever held it is gone. So the first thing a start
// does, while there is only one thread, is to open the lock, whatever memory says.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct Counter {
  std::atomic<uint64_t> held;
  uint64_t value;

  void lock() {
    while (held.exchange(1, std::memory_order_acquire))
      lf_yield();
  }

  void unlock() { held.store(0, std::memory_order_release); }

  void add() {
    lock();
    __atomic_store_n(&value, value + 1, __ATOMIC_RELEASE);
    lf_persist(&value, sizeof value);
    unlock();
  }
};

int main() {
  auto *counter = static_cast<Counter *>(lf_pm(sizeof(Counter)));
  counter->held.store(0, std::memory_order_relaxed);
  uint64_t before = counter->value;
  counter->add();
  counter->add();
  assert(counter->value == before + 2);
}
