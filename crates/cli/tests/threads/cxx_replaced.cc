// The same for a class, and for a lock of readers and writers.
// check: --replace Spin=pthread_mutex --replace Shared=pthread_rwlock
// exit: 0
// assumes: `Spin::lock()` is as good as pthread_mutex_lock
// assumes: `own::Shared::lock_shared()` is as good as pthread_rwlock_rdlock
// check: --checks crash
// exit: 0
#include <atomic>
#include <cassert>
#include <thread>
struct Spin {
  std::atomic<bool> held{false};
  void lock() {
    while (held.exchange(true))
      std::this_thread::yield();
  }
  bool try_lock() { return !held.exchange(true); }
  void unlock() { held.store(false); }
};
namespace own {
class Shared {
  std::atomic<int> state{0};

public:
  void lock_shared() {
    for (;;) {
      int now = state.load();
      if (now >= 0 && state.compare_exchange_strong(now, now + 1))
        return;
    }
  }
  void unlock_shared() { state.fetch_sub(1); }
  void lock() {
    int none = 0;
    while (!state.compare_exchange_strong(none, -1))
      none = 0;
  }
  void unlock() { state.store(0); }
};
} // namespace own
static Spin spin;
static own::Shared shared;
static int x, y;
static void work() {
  spin.lock();
  x++;
  spin.unlock();
  shared.lock_shared();
  int seen = y;
  shared.unlock_shared();
  shared.lock();
  y = y + 1;
  shared.unlock();
  assert(seen >= 0);
}
int main() {
  std::thread a(work), b(work);
  a.join();
  b.join();
  assert(x == 2 && y == 2);
}
