// expect: assertion lost lost kept kept
// expect: volatile-pointer at call
// flags: --checks crash
/* A class with virtual functions in persistent memory, and a field of it that is not flushed: two mistakes. */
#include <cassert>
#include <landfall.h>
#include <new>

struct shape {
  virtual long sides() const = 0;
  virtual ~shape() {}
};
struct square : shape {
  long sides() const override { return 4; }
};
struct drawing {
  alignas(64) square first;
  alignas(64) long width;
  alignas(64) long done;
};

int main() {
  drawing *page = static_cast<drawing *>(lf_pm(sizeof(drawing)));
  if (lf_failures() == 0) {
    const shape *made = new (&page->first) square();
    lf_persist(made, sizeof *made);
    page->width = 8; //~ lost
    page->done = 1; //~ kept
    lf_persist(&page->done, sizeof page->done);
    return 0;
  }
  if (!page->done)
    return 0;
  const shape *found = &page->first;
  asm volatile("" : "+r"(found));
  assert(found->sides() == 4); //~ call
  assert(page->width == 8);
  return 0;
}
