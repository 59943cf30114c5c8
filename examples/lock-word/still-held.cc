// BROKEN: nobody opens the lock after a power failure.
//
// Missing: held.store(0) at the start. The lock word shares a line with the counter, so the flush of the counter makes the
// *held* lock durable. If the power fails before unlock() gets there too, the next start waits for a thread that died.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct Counter {
  std::atomic<uint64_t> held;
  uint64_t value;

  void lock() {
    while (held.exchange(1, std::memory_order_acquire))  //~ spins
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
  uint64_t before = counter->value;
  counter->add();
  counter->add();
  assert(counter->value == before + 2);
}
