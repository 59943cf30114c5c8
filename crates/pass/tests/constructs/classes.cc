// Methods, virtual calls, templates, lambdas: functions are named with their classes and namespaces.
#include "pm.h"
#include <new>

namespace storage {
struct Cell {
  long value;
  virtual void set(long v) { value = v; }
};
template <typename T> struct Box {
  T inner;
  void put(T v) { inner = v; }
};
} // namespace storage

int main() {
  auto *cell = new (pm(0)) storage::Cell;
  cell->set(5);
  auto *box = static_cast<storage::Box<short> *>(pm(64));
  box->put(6);
  auto lambda = [box] { box->inner++; };
  lambda();
  assert(cell->value == 5 && box->inner == 7);
  return 0;
}
