// Atomics and captured variables of functions that return while their stores wait; others take their place on the stack.
// check: --checks crash -std=c++17
// exit: 0
// check: --checks crash -std=c++17 -O2
// exit: 0
#include <atomic>
#include <cassert>
#include <functional>
#include <thread>
static std::atomic<int> shared{0};

__attribute__((noinline)) static int captured(int k) {
  std::atomic<int> own{0};
  int numbers[8];
  for (int i = 0; i < 8; i++)
    numbers[i] = k + i;
  std::function<int()> store = [&] {
    own.store(k, std::memory_order_relaxed);
    shared.store(k, std::memory_order_relaxed);
    return own.load(std::memory_order_relaxed) + numbers[k & 7];
  };
  return store();
}

struct Number {
  int value;
  explicit Number(int value) : value(value) {}
  virtual int get() { return value; }
  virtual ~Number() {}
};

__attribute__((noinline)) static int object(int k) {
  Number number(k);
  Number *known = &number;
  asm volatile("" ::"r"(known) : "memory");
  return known->get();
}

static int sum(int from) {
  int sum = 0;
  for (int k = from; k < from + 2; k++) {
    sum += captured(k) + object(k);
    shared.load(std::memory_order_relaxed);
  }
  return sum;
}

int main() {
  std::thread thread([] { assert(sum(1) == 4 + 8); });
  assert(sum(2) == 8 + 12);
  thread.join();
  return 0;
}
