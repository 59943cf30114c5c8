// A value is handed over under a mutex.
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

struct Box {
  std::mutex lock;
  std::condition_variable filled;
  int value = 0;
  bool full = false;
};

int main() {
  auto box = std::make_unique<Box>();
  std::thread giver([&] {
    std::unique_lock held(box->lock);
    box->value = 7;
    box->full = true;
#ifndef NOT_TOLD
    box->filled.notify_one();
#endif
  });
  int got;
  {
    std::unique_lock held(box->lock);
#ifdef LOOKS_ONCE
    if (!box->full)
      box->filled.wait(held);
#else
    box->filled.wait(held, [&] { return box->full; });
#endif
    got = box->value;
  }
  giver.join();
  assert(got == 7);
}
