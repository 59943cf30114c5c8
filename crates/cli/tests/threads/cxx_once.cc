// also: --equivalence reads
// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: assertion made == 1
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag once;
static std::atomic<int> made;
static std::atomic<bool> there;

struct Thing {
  Thing() { made++; }
};

static void use() {
#ifdef BROKEN
  if (!there.exchange(false)) {
    made++;
    there = true;
  }
#else
  static Thing thing;
  std::call_once(once, [] { there = true; });
  assert(there);
#endif
}

int main() {
  std::thread first(use), second(use);
  first.join();
  second.join();
  assert(made == 1);
}
