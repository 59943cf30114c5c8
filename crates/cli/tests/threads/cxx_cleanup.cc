// A thread that ends itself leaves its scopes: destructors run and locks are given back, and so do handlers between them.
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash -DSWALLOWED
// exit: 100
// finds: abort
#include <cassert>
#include <mutex>
#include <pthread.h>
#include <thread>

static std::mutex lock;
static int order;

struct Scope {
  int digit;
  ~Scope() { order = order * 10 + digit; }
};

static void handler(void *digit) { order = order * 10 + *static_cast<int *>(digit); }

static void ends() {
  Scope inner{1};
  static int two = 2;
  pthread_cleanup_push(handler, &two);
  pthread_exit(nullptr);
  pthread_cleanup_pop(0);
}

static void *ended(void *unused) {
  std::lock_guard<std::mutex> held(lock);
  Scope outer{3};
#ifdef SWALLOWED
  try {
    ends();
  } catch (...) {
  }
#else
  ends();
#endif
  return unused;
}

int main() {
  pthread_t other;
  pthread_create(&other, nullptr, ended, nullptr);
  std::thread second([] { std::lock_guard<std::mutex> held(lock); });
  pthread_join(other, nullptr);
  second.join();
  assert(order == 213);
  assert(lock.try_lock());
}
