// reset
#include <landfall.h>
#include <atomic>
struct Counter {
  std::atomic<long> held;
  long value;
  void lock() {
    /*@*/while (held.exchange(1))
      lf_yield();
  }
  void add() {
    /*@*/lock();
    value++;
    held.store(0);
  }
};
int main() {
  auto *counter = static_cast<Counter *>(lf_pm(sizeof(Counter)));
  /*@*/counter->add();
}
