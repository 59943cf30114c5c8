// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: data-race
#include <cassert>
#include <future>
#include <thread>

static int result;

int main() {
  std::promise<void> done;
  std::future<void> said = done.get_future();
  std::thread worker([&] {
    result = 7;
    done.set_value();
  });
#ifndef BROKEN
  said.get();
#endif
  int seen = result;
  worker.join();
#ifndef BROKEN
  assert(seen == 7);
  auto later = std::async(std::launch::async, [] { return result + 1; });
  assert(later.get() == 8);
#else
  (void)seen;
#endif
}
