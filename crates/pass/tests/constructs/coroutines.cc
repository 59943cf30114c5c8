// Coroutines: accesses before and after a suspension.
// options: -std=c++20
#include "pm.h"
#include <coroutine>

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

static Task work(int *p) {
  for (int i = 1; i <= 2; i++) {
    *p += i;
    co_await std::suspend_always{};
  }
  *p = 10;
}

int main() {
  int *p = static_cast<int *>(pm(0));
  Task task = work(p);
  assert(*p == 1);
  task.handle.resume();
  task.handle.resume();
  assert(*p == 10);
  task.handle.destroy();
  return 0;
}
